"""Rows of a snapshot as typed columns, parsed by Arrow in the task that reads them.

Spark's own JSON functions read any image, at a fraction of the speed. So here only what is plain
is read: values of the kinds below in their canonical form. A batch that holds anything else is
refused as a whole, and whoever asked reads it in the other way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import DataType, DecimalType, StructType

from headwater.event import EventBatch, Kind, Operation, TableId
from headwater.spark.source.batch import LogBatchReader
from headwater.spark.source.options import Options
from headwater.spark.source.ranges import LogOpener

# What an event itself says, among the columns of the row.
SEQUENCE, COMMITTED = "__sequence", "__committed"
PLAIN = frozenset(
    {
        *(Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.FLOAT64, Kind.DECIMAL),
        *(Kind.STRING, Kind.UUID, Kind.DATE, Kind.TIME, Kind.TIMESTAMP, Kind.TIMESTAMPTZ),
        Kind.INTERVAL,
    }
)
_ARROW = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
# In the message of what a task raises.
REFUSAL = "headwater: a row is not plain"


class RowsReader(LogBatchReader):
    """Reads the rows that a snapshot read from one table, in the columns of a given schema."""

    def __init__(self, opener: LogOpener, options: Options, schema: StructType) -> None:
        super().__init__(opener, options)
        self._table = TableId(*json.loads(options.rows_of))
        self._schema = arrow_schema(schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        for batch in self._batches(partition):
            reads = batch.filter(_reads_of(batch, self._table))
            if len(reads):
                yield typed_rows(reads, self._schema)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns in Arrow's types."""
    return pa.schema([(each.name, _arrow(each.dataType)) for each in schema])


def _reads_of(batch: EventBatch, table: TableId) -> pa.Array:
    wanted = pc.equal(batch.column("op"), int(Operation.READ))
    wanted = pc.and_(wanted, pc.equal(batch.column("table_name"), table.name))
    schema = batch.column("table_schema")
    same = pc.is_null(schema) if table.schema is None else pc.equal(schema, table.schema)
    return pc.fill_null(pc.and_(wanted, same), False)  # noqa: FBT003 - Arrow's own


def typed_rows(reads: EventBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The rows of events that all have an `after` image."""
    told = {
        SEQUENCE: reads.column("sequence_number"),
        COMMITTED: reads.column("source_ts_ms").cast(pa.timestamp("ms", tz="UTC")),
    }
    wanted = [field for field in schema if field.name not in told]
    try:
        parsed = _parsed(reads.column("after"), wanted)
        found = {name: parsed.column(name) for name in parsed.column_names} | told
        columns = [found[field.name].cast(field.type) for field in schema]
    except pa.ArrowInvalid as exc:
        raise ValueError(REFUSAL) from exc
    return pa.RecordBatch.from_arrays([_whole(each) for each in columns], schema=schema)


def _parsed(images: pa.Array, fields: list[pa.Field]) -> pa.Table:
    lines = pc.binary_join(pa.ListArray.from_arrays([0, len(images)], images), "\n")[0]
    text = lines.as_buffer()
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=text.size + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema([(field.name, _written(field.type)) for field in fields]),
            unexpected_field_behavior="ignore",
        ),
    )


def _arrow(kind: DataType) -> pa.DataType:
    if isinstance(kind, DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return _ARROW[kind.simpleString()]


def _written(kind: pa.DataType) -> pa.DataType:
    """The type that a value of a column has in an image."""
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        return kind
    return pa.string()


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
