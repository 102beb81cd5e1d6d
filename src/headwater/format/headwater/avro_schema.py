"""The envelope's Avro schemas. A bare datum names no schema, so both sides must know theirs.

`EVENT` is what Headwater writes. `EVENT_12` is the envelope as it was first published, with twelve
fields; `EVENT` appends the two lists of unavailable columns with the default `[]`, so a reader
resolves old data to it (give `EVENT_12` as the writer schema). `EXTRA` is the type of what follows
the datum of an event that another format brought.

A logical message has an operation that `EVENT` has no symbol for. `with_messages` appends it, and
`EVENT_WITH_MESSAGES` is that of `EVENT`. The datums of all other events are the same bytes under
both, so `EVENT` stays what is published of them, and readers that know it go on (ADR 15).
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_NAMESPACE = "io.rustcdc"


def _field(name: str, kind: Any, **more: Any) -> Schema:
    return {"name": name, "type": kind, **more}


def _record(name: str, fields: list[Schema]) -> Schema:
    return {"type": "record", "name": name, "namespace": _NAMESPACE, "fields": fields}


def _optional(name: str, kind: Any) -> Schema:
    return _field(name, ["null", kind], default=None)


def _names(name: str) -> Schema:
    return _field(name, {"type": "array", "items": "string"}, default=[])


def _operation(*symbols: str) -> Schema:
    return {
        "type": "enum",
        "name": "Operation",
        "namespace": _NAMESPACE,
        "symbols": ["INSERT", "UPDATE", "DELETE", "READ", "SCHEMA_CHANGE", "TRUNCATE", *symbols],
    }


def with_messages(event: Schema) -> Schema:
    """The same record with a symbol for logical messages, behind all others."""
    op = _field("op", _operation("MESSAGE"))
    fields = [op if field["name"] == "op" else field for field in event["fields"]]
    return {**event, "fields": fields}


_SOURCE = _record(
    "SourceMetadata",
    [_field("source_name", "string"), _field("offset", "string"), _field("timestamp", "long")],
)
_SNAPSHOT = _record(
    "SnapshotMetadata",
    [
        _field("snapshot_id", "string"),
        _field("chunk_index", "int"),
        _field("is_last_chunk", "boolean"),
    ],
)
_TRANSACTION = _record(
    "TransactionMetadata",
    [
        _field("tx_id", "long"),
        _field("total_events", "int", doc="0: not known"),
        _field("event_index", "int"),
    ],
)
_TWELVE = [
    _optional("before", "bytes"),
    _optional("after", "bytes"),
    _field("op", _operation()),
    _field("source", _SOURCE),
    _field("ts", "long", doc="ms since the epoch"),
    _optional("schema", "string"),
    _field("table", "string"),
    _names("primary_key"),
    _optional("snapshot", _SNAPSHOT),
    _optional("transaction", _TRANSACTION),
    _field("envelope_version", "int", default=1),
    _field("before_is_key_only", "boolean", default=False),
]

EXTRA = "string"
EVENT_12: Schema = _record("Event", _TWELVE)
EVENT: Schema = _record(
    "Event",
    [*_TWELVE, _names("unavailable_columns"), _names("before_unavailable_columns")],
)
EVENT_WITH_MESSAGES: Schema = with_messages(EVENT)
# For readers that cannot read on behind a datum: they are given one zero byte more than there is.
EVENT_AND_EXTRA: Schema = _record("Event", [*EVENT_WITH_MESSAGES["fields"], _field("extra", EXTRA)])
