"""An event batch as Spark sees it: the same columns, in types that Spark takes without a copy."""

from __future__ import annotations

import pyarrow as pa

from headwater.event import EventBatch, Operation, uuid_strings

SPARK_DDL = """
    sequence_number bigint, event_id string, op string, `schema` string, `table` string,
    primary_key array<string>, before string, after string, ts timestamp,
    source struct<source_name: string, offset: string, timestamp: timestamp>,
    snapshot struct<snapshot_id: string, chunk_index: bigint, is_last_chunk: boolean>,
    transaction struct<tx_id: bigint, total_events: bigint, event_index: bigint>,
    before_is_key_only boolean, unavailable_columns array<string>,
    before_unavailable_columns array<string>, schema_id bigint, context string
"""

_TIME = pa.timestamp("us", tz="UTC")
_SNAPSHOT = pa.struct(
    [("snapshot_id", pa.string()), ("chunk_index", pa.int64()), ("is_last_chunk", pa.bool_())]
)
_TRANSACTION = pa.struct(
    [("tx_id", pa.int64()), ("total_events", pa.int64()), ("event_index", pa.int64())]
)
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
        ],
    )


def _time(ms: pa.Array) -> pa.Array:
    return ms.cast(pa.timestamp("ms", tz="UTC")).cast(_TIME)
