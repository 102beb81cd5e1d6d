"""An event batch as Spark sees it, and back: the same columns, in types that Spark takes as is."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.event import EVENT_SCHEMA, EventBatch, Operation, uuid_strings

SPARK_DDL = """
    sequence_number bigint, event_id string, op string, `schema` string, `table` string,
    primary_key array<string>, before string, after string, ts timestamp,
    source struct<source_name: string, offset: string, timestamp: timestamp>,
    snapshot struct<snapshot_id: string, chunk_index: bigint, is_last_chunk: boolean>,
    transaction struct<tx_id: bigint, total_events: bigint, event_index: bigint>,
    before_is_key_only boolean, unavailable_columns array<string>,
    before_unavailable_columns array<string>, schema_id bigint, context string,
    extra string
"""

_TIME = pa.timestamp("us", tz="UTC")
_SNAPSHOT = pa.struct(
    [("snapshot_id", pa.string()), ("chunk_index", pa.int64()), ("is_last_chunk", pa.bool_())]
)
_TRANSACTION = pa.struct(
    [("tx_id", pa.int64()), ("total_events", pa.int64()), ("event_index", pa.int64())]
)
_SAME = (
    *("sequence_number", "primary_key", "before", "after", "before_is_key_only", "schema_id"),
    *("unavailable_columns", "before_unavailable_columns", "context", "extra"),
)
_FILLER = {pa.string(): "", pa.int64(): 0, pa.bool_(): False}  # where the whole block is null
_LABELS = pa.array([None, *(op.label for op in Operation)], pa.string())


def to_spark(batch: EventBatch) -> pa.RecordBatch:
    """The batch in the columns of SPARK_DDL, every field nullable as Spark demands."""
    column = batch.column
    source = pa.StructArray.from_arrays(
        [column("source_name"), column("offset"), _time(column("source_ts_ms"))],
        names=["source_name", "offset", "timestamp"],
    )
    return pa.RecordBatch.from_arrays(
        [
            column("sequence_number"),
            uuid_strings(column("event_id")),
            _LABELS.take(column("op")),
            column("table_schema"),
            column("table_name"),
            column("primary_key"),
            column("before"),
            column("after"),
            _time(column("ts_ms")),
            source,
            column("snapshot").cast(_SNAPSHOT),
            column("transaction").cast(_TRANSACTION),
            column("before_is_key_only"),
            column("unavailable_columns"),
            column("before_unavailable_columns"),
            column("schema_id"),
            column("context"),
            column("extra"),
        ],
        names=[
            "sequence_number",
            "event_id",
            "op",
            "schema",
            "table",
            "primary_key",
            "before",
            "after",
            "ts",
            "source",
            "snapshot",
            "transaction",
            "before_is_key_only",
            "unavailable_columns",
            "before_unavailable_columns",
            "schema_id",
            "context",
            "extra",
        ],
    )


def _time(ms: pa.Array) -> pa.Array:
    return ms.cast(pa.timestamp("ms", tz="UTC")).cast(_TIME)


def from_spark(rows: pa.RecordBatch) -> EventBatch:
    """The events of rows in the columns of SPARK_DDL."""
    column = rows.column
    source, op = column("source"), pc.index_in(column("op"), _LABELS)
    if op.null_count:
        unknown = column("op").filter(op.is_null())[0].as_py()
        raise DataError("event-invalid", f"{unknown!r} is no operation")
    return EventBatch.from_columns(
        {
            **{name: column(name) for name in _SAME},
            "event_id": _ids(column("event_id")),
            "op": op.cast(pa.int8()),
            "source_name": pc.struct_field(source, "source_name"),
            "offset": pc.struct_field(source, "offset"),
            "source_ts_ms": _ms(pc.struct_field(source, "timestamp")),
            "ts_ms": _ms(column("ts")),
            "table_schema": column("schema"),
            "table_name": column("table"),
            "snapshot": _block(column("snapshot"), "snapshot"),
            "transaction": _block(column("transaction"), "transaction"),
        }
    )


def _ms(times: pa.Array) -> pa.Array:
    return times.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64())


def _ids(texts: pa.Array) -> pa.Array:
    """UUID text as 16 bytes each, in one go."""
    digits = pc.replace_substring(texts, "-", "")
    data = bytes.fromhex("".join(digits.to_pylist()))
    kind = EVENT_SCHEMA.field("event_id").type
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(texts), [None, pa.py_buffer(data)])


def _block(block: pa.Array, name: str) -> pa.Array:
    """A struct whose parts may not be null, of one whose parts Spark calls nullable."""
    fields = list(EVENT_SCHEMA.field(name).type)
    parts = [pc.struct_field(block, field.name) for field in fields]
    filled = [
        part if field.nullable else pc.fill_null(part, _FILLER[field.type])
        for part, field in zip(parts, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(filled, fields=fields, mask=block.is_null())
