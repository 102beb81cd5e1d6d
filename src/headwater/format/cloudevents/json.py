"""`cloudevents`: one CloudEvent of version 1.0 per event, in the JSON event format.

The data is the canonical envelope. Events of other producers that leave out of their data what
stands in the attributes are read as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.contract import Message
from headwater.event import EventBatch
from headwater.format.cloudevents.attributes import attributes
from headwater.format.columns import EnvelopeColumns, bad_record
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.json_reader import to_columns
from headwater.format.jsontext import dumps, loads_object
from headwater.format.rows import event_keys, key_texts
from headwater.format.stash import Site, dress, read_records
from headwater.format.text import join
from headwater.format.times import instant_ms

FAMILY = "cloudevents"
SITE = Site(("cdcextra",), as_text=True)
STRUCTURED = "application/cloudevents+json"

Tree = dict[str, Any]

_HEADER = "ce_"
_CONTENT_TYPE = "content-type"


@dataclass(frozen=True, slots=True)
class CloudEventsFormat:
    """Reads and writes CloudEvents, structured as records and binary as messages."""

    @property
    def name(self) -> str:
        """`cloudevents`."""
        return "cloudevents"

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return STRUCTURED

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One CloudEvent per event, structured."""
        return dress(FAMILY, SITE, _natural(batch), batch)

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events; a record that is no CloudEvent of a change is a DataError with its index."""
        return read_records(FAMILY, SITE, records, _columns, _natural)

    def messages(self, batch: EventBatch) -> list[Message]:
        """Binary mode: the data is the value, the attributes are headers, the key is the row's."""
        keys = key_texts(event_keys(batch)).to_pylist()
        return [
            _message(index, record, key)
            for index, (record, key) in enumerate(zip(self.encode(batch), keys, strict=True))
        ]

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events of messages in binary or structured mode."""
        return self.decode(_record(index, message) for index, message in enumerate(messages))


def _natural(batch: EventBatch) -> pa.Array:
    data = JsonFormat().natural(batch)  # first: it refuses what has no attributes either
    return join("{", attributes(batch), '"data":', data, "}")


def _columns(trees: Sequence[Tree]) -> EnvelopeColumns:
    befores, afters, rows = [], [], []
    for index, tree in enumerate(trees):
        try:
            row = _envelope(tree)
            befores.append(_image(row.get("before")))
            afters.append(_image(row.get("after")))
        except ValueError as exc:
            raise bad_record(index, f"not a CloudEvent of a change: {exc}") from exc
        rows.append(row)
    return to_columns(befores, afters, rows)


def _envelope(tree: Tree) -> Tree:
    """The data, and from the attributes what it lacks."""
    data = tree.get("data")
    if tree.get("specversion") != "1.0" or type(data) is not dict:
        raise ValueError("no specversion 1.0 with an object as data")
    if "source" in data:
        return data
    time_ms = instant_ms(tree.get("time"))
    source = {
        "source_name": tree.get("cdcsource"),
        "offset": tree.get("cdcoffset"),
        "timestamp": time_ms,
    }
    told = {"op": tree.get("cdcop"), "source": source, "ts": time_ms}
    return told | {"schema": tree.get("cdcschema"), "table": tree.get("cdctable")} | data


def _image(value: Any) -> str | None:
    if value is None:
        return None
    if type(value) is not dict:
        raise ValueError("a row is not an object")
    return dumps(value)


def _message(index: int, record: bytes, key: str | None) -> Message:
    try:
        tree = loads_object(record)
    except ValueError as exc:
        raise bad_record(index, str(exc)) from exc
    data = tree.pop("data", None)
    content_type = str(tree.pop("datacontenttype", "application/json"))
    headers = [(_HEADER + name, _header(value)) for name, value in tree.items()]
    headers.append((_CONTENT_TYPE, content_type.encode()))
    return Message(None if key is None else key.encode(), dumps(data).encode(), tuple(headers))


def _header(value: Any) -> bytes:
    return (value if type(value) is str else dumps(value)).encode()


def _record(index: int, message: Message) -> bytes:
    if message.value is None:
        raise bad_record(index, "a CloudEvent without data is no change")
    try:
        headers = {name: str(value, "utf-8") for name, value in message.headers}
        content_type = headers.pop(_CONTENT_TYPE, "")
        if content_type.startswith(STRUCTURED):
            return message.value
        found = {n.removeprefix(_HEADER): v for n, v in headers.items() if n.startswith(_HEADER)}
        told = {"datacontenttype": content_type} if content_type else {}
        return dumps(found | told | {"data": loads_object(message.value)}).encode()
    except ValueError as exc:
        raise bad_record(index, f"not a CloudEvent in binary mode: {exc}") from exc
