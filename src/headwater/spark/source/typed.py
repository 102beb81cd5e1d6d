"""Rows as typed columns, parsed by Arrow in the task that reads them.

Spark's own JSON functions read any image, at a fraction of the speed. So here only what is plain
is read: values of the plain kinds in their canonical form. A batch that holds anything else is
refused as a whole, and whoever asked reads it in the other way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
from pyspark.sql.types import DataType, DecimalType, StructType

from headwater.event import EventBatch, Operation, TableId
from headwater.event.verbatim import Verbatim
from headwater.spark.source.typed_read import COMMITTED, GONE, REFUSAL, SEQUENCE, Told

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
_OF_ROWS = (Operation.INSERT, Operation.UPDATE, Operation.DELETE, Operation.READ)


def arrow_schema(schema: StructType) -> pa.Schema:
    """The columns in Arrow's types."""
    return pa.schema([(each.name, _arrow(each.dataType)) for each in schema])


def reads_of(batch: EventBatch, table: TableId) -> EventBatch:
    """Those of the events that are rows of a snapshot of the table."""
    return _chosen(batch, table, pc.equal(batch.column("op"), int(Operation.READ)))


def changes_of(batch: EventBatch, table: TableId) -> EventBatch:
    """Those of the events that are about rows of the table."""
    wanted = pa.array([int(op) for op in _OF_ROWS], batch.column("op").type)
    return _chosen(batch, table, pc.is_in(batch.column("op"), wanted))


def _chosen(batch: EventBatch, table: TableId, wanted: pa.Array) -> EventBatch:
    wanted = pc.and_(wanted, pc.equal(batch.column("table_name"), table.name))
    schema = batch.column("table_schema")
    same = pc.is_null(schema) if table.schema is None else pc.equal(schema, table.schema)
    wanted = pc.fill_null(pc.and_(wanted, same), False)  # noqa: FBT003 - Arrow's own
    return batch if pc.all(wanted).as_py() else batch.filter(wanted)


def typed_rows(events: EventBatch, schema: pa.Schema, told: Told, kept: Verbatim) -> pa.RecordBatch:
    """The row of each event: the one that it leaves, of a delete the one that was."""
    gone = pc.equal(events.column("op"), int(Operation.DELETE))
    image = events.column("after")
    if pc.any(gone).as_py():
        image = pc.if_else(gone, events.column("before"), image)
    said = {
        SEQUENCE: events.column("sequence_number"),
        COMMITTED: events.column("source_ts_ms").cast(pa.timestamp("ms", tz="UTC")),
        GONE: gone,
    }
    if image.null_count:
        raise ValueError(REFUSAL)
    try:
        read = _read(image, [field for field in schema if field.name not in told], kept)
        columns = [
            read[field.name] if field.name in read else _beside(field, told, said, len(events))
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    except pa.ArrowInvalid as exc:
        raise ValueError(REFUSAL) from exc


def _beside(field: pa.Field, told: Told, said: Mapping[str, pa.Array], rows: int) -> pa.Array:
    """A column that is not in the image."""
    what = told[field.name]
    if isinstance(what, str):
        return said[what].cast(field.type)
    return pa.repeat(pa.scalar(what, field.type), rows)


def departures(
    events: EventBatch, rows: pa.RecordBatch, told: Told, key: list[str], kept: Verbatim
) -> pa.RecordBatch | None:
    """The old keys of rows that changed theirs, as rows that are gone; None if there are none."""
    before = events.column("before")
    updates = pc.and_(pc.equal(events.column("op"), int(Operation.UPDATE)), pc.is_valid(before))
    if not pc.any(updates).as_py():
        return None
    schema = rows.schema
    now = rows.filter(updates)
    try:
        old = _read(before.filter(updates), [schema.field(name) for name in key], kept)
    except pa.ArrowInvalid as exc:
        raise ValueError(REFUSAL) from exc
    if any(old[name].null_count or now.column(name).null_count for name in key):
        raise ValueError(REFUSAL)
    moved = reduce(pc.or_, (pc.not_equal(old[name], now.column(name)) for name in key))
    if not pc.any(moved).as_py():
        return None
    gone = pa.repeat(pa.scalar(True), len(now))  # noqa: FBT003 - Arrow's own
    left = {**old, **{name: gone for name, what in told.items() if what == GONE}}
    columns = [left.get(field.name, now.column(field.name)) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema).filter(moved)


def latest(rows: pa.Table, key: tuple[str, ...], number: str) -> pa.Table:
    """The rows with the last number of each key; one number may stand with two keys."""
    newest = rows.group_by(list(key)).aggregate([(number, "max")]).column(f"{number}_max")
    if len(newest) == rows.num_rows:
        return rows
    return rows.filter(pc.is_in(rows.column(number), newest))


def in_parts(batches: Iterator[pa.RecordBatch], most_bytes: int) -> Iterator[pa.Table]:
    """Batches put together to tables of about so many bytes."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= most_bytes:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _read(images: pa.Array, fields: list[pa.Field], kept: Verbatim) -> dict[str, pa.Array]:
    """Columns of the images, by name."""
    texts = kept.columns(images.to_pylist()) if kept.types else {}
    others = [field for field in fields if field.name not in texts]
    parsed = _parsed(images, others) if others else pa.table({})
    read = texts | {field.name: parsed.column(field.name).combine_chunks() for field in others}
    return {field.name: read[field.name].cast(field.type) for field in fields}


def _parsed(images: pa.Array, fields: list[pa.Field]) -> pa.Table:
    text = _text(images)
    return pyarrow.json.read_json(
        pa.BufferReader(text),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=text.size + 1),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=pa.schema([(field.name, _written(field.type)) for field in fields]),
            unexpected_field_behavior="ignore",
        ),
    )


def _text(images: pa.Array) -> pa.Buffer:
    """The images one after the other, as they lie in memory: objects need nothing between them."""
    offsets = np.frombuffer(images.buffers()[1], np.int32)
    begin, end = offsets[images.offset], offsets[images.offset + len(images)]
    return images.buffers()[2].slice(int(begin), int(end - begin))


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
