"""The one Arrow schema of an event batch, and its version."""

from __future__ import annotations

import pyarrow as pa

EVENT_SCHEMA_VERSION = 2  # 1 was without `extra`
_VERSION_KEY = b"headwater.event_schema"

SNAPSHOT = pa.struct(
    [
        pa.field("snapshot_id", pa.string(), nullable=False),
        pa.field("chunk_index", pa.int64(), nullable=False),
        pa.field("is_last_chunk", pa.bool_(), nullable=False),
    ]
)
TRANSACTION = pa.struct(
    [
        pa.field("tx_id", pa.int64(), nullable=False),
        pa.field("total_events", pa.int64()),
        pa.field("event_index", pa.int64(), nullable=False),
    ]
)


def _required(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, nullable=False)


# sequence_number is 0 until the log gives one; before and after are UTF-8 JSON text; a null list of
# unavailable columns means none; schema_id 0 means that no schema version is known. extra is UTF-8
# JSON: what a record of another format said that no field here can hold, by format; captured events
# have none.
EVENT_SCHEMA: pa.Schema = pa.schema(
    [
        _required("sequence_number", pa.int64()),
        _required("event_id", pa.binary(16)),
        _required("op", pa.int8()),
        _required("source_name", pa.string()),
        _required("offset", pa.string()),
        _required("source_ts_ms", pa.int64()),
        _required("ts_ms", pa.int64()),
        pa.field("table_schema", pa.string()),
        _required("table_name", pa.string()),
        pa.field("primary_key", pa.list_(pa.string())),
        pa.field("before", pa.string()),
        pa.field("after", pa.string()),
        _required("before_is_key_only", pa.bool_()),
        pa.field("unavailable_columns", pa.list_(pa.string())),
        pa.field("before_unavailable_columns", pa.list_(pa.string())),
        pa.field("snapshot", SNAPSHOT),
        pa.field("transaction", TRANSACTION),
        _required("schema_id", pa.int64()),
        pa.field("context", pa.string()),
        pa.field("extra", pa.string()),
    ],
    metadata={_VERSION_KEY: str(EVENT_SCHEMA_VERSION).encode()},
)


def version_of(schema: pa.Schema) -> int | None:
    """The event schema version that a schema declares, or None."""
    text = (schema.metadata or {}).get(_VERSION_KEY)
    return int(text) if text is not None and text.isdigit() else None
