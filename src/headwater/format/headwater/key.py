"""The envelope's key, for carriers that keep it beside the event: compact JSON, names in order."""

from __future__ import annotations

from io import BytesIO

from headwater.event import EventBatch
from headwater.format.jsontext import canonical
from headwater.format.library import missing_extra
from headwater.format.rows import event_keys

EVENT_KEY = {
    "type": "record",
    "name": "EventKey",
    "namespace": "io.rustcdc",
    "fields": [{"name": "key", "type": ["null", "string"], "default": None}],
}


def json_keys(batch: EventBatch) -> list[bytes | None]:
    """`{"id":1}` for each event; None where a key column is not known, or there is no key."""
    return [None if text is None else text.encode() for text in _texts(batch)]


def protobuf_keys(batch: EventBatch) -> list[bytes | None]:
    """The same JSON in a message `EventKey` of proto/event_key.proto."""
    try:
        from headwater.format._generated.event_key_pb2 import EventKey
    except ModuleNotFoundError as exc:
        raise missing_extra("protobuf", exc) from exc
    return [
        None if text is None else bytes(EventKey(key=text).SerializeToString())
        for text in _texts(batch)
    ]


def avro_keys(batch: EventBatch) -> list[bytes | None]:
    """The same JSON in a bare datum of the record `EVENT_KEY`."""
    try:
        import fastavro
    except ModuleNotFoundError as exc:
        raise missing_extra("avro", exc) from exc
    schema = fastavro.parse_schema(EVENT_KEY)
    keys: list[bytes | None] = []
    for text in _texts(batch):
        out = BytesIO()
        if text is not None:
            fastavro.schemaless_writer(out, schema, {"key": text})
        keys.append(None if text is None else out.getvalue())
    return keys


def _texts(batch: EventBatch) -> list[str | None]:
    return [None if key is None else canonical(key) for key in event_keys(batch)]
