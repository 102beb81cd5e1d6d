"""What a micro-batch holds: which tables, in which shapes, up to where."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import DataError
from headwater.event import Operation, TableId, TableSchema
from headwater.spark.change.changes import Moment, Shape, TableChanges

_IN_WORKER = re.compile(r"DataError: \[(event-invalid|value-mistyped)\] ([^\n]*)")
_NO_ROWS = (Operation.SCHEMA_CHANGE.label, Operation.MESSAGE.label)

# What tables are made of. The rest of an event is not kept while a batch is worked on.
USED = {
    "sequence_number": "bigint",
    **dict.fromkeys(("op", "schema", "table", "before", "after"), "string"),
    "schema_id": "bigint",
    "before_is_key_only": "boolean",
    **dict.fromkeys(("unavailable_columns", "before_unavailable_columns"), "array<string>"),
    "source": "struct<timestamp: timestamp>",
}


def drop_of(session: SparkSession, table: TableSchema, dropped: Moment) -> DataFrame:
    """That a table went, as an event of its own: a change of its shape that leaves none."""
    at = f.timestamp_micros(f.lit(dropped.at_us))
    said = {
        "sequence_number": f.lit(dropped.sequence),
        "op": f.lit(Operation.SCHEMA_CHANGE.label),
        "schema": f.lit(table.table.schema),
        "table": f.lit(table.table.name),
        "schema_id": f.lit(table.schema_id),
        "source": f.struct(at.alias("timestamp")),
    }
    return session.range(1).select(
        *(said.get(name, f.lit(None)).cast(kind).alias(name) for name, kind in USED.items())
    )


def is_drop() -> Column:
    """Whether an event is of that kind; the source's own changes of a shape tell the statement."""
    return (f.col("op") == Operation.SCHEMA_CHANGE.label) & f.col("after").isNull()


def used(frame: DataFrame) -> DataFrame:
    """The columns of events that tables are made of."""
    committed = f.struct("source.timestamp").alias("source")
    return frame.select(*(committed if name == "source" else name for name in USED))


@dataclass(frozen=True, slots=True)
class Contents:
    """What a micro-batch holds: changes per table, after one sequence number up to another.

    `passed` are tables of which it holds rows that nobody asked for.
    """

    tables: tuple[TableChanges, ...]
    after: int
    until: int
    committed_at_us: int = 0
    passed: tuple[TableId, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """What a batch tells of one table in one shape; events that are about no row apart.

    That a table was `dropped` is told of no shape.
    """

    table: TableId
    schema_id: int
    no_rows: bool
    first: int
    last: int
    events: int
    truncated_at: int | None
    unsent: int
    moving: int
    carrying: int
    reads: int
    committed_at_us: int
    dropped: bool = False


def contents(frame: DataFrame, history: SchemaHistory) -> Contents:
    """Look through a frame of events once; only the counting runs on Spark."""
    truncate = f.col("op") == Operation.TRUNCATE.label
    unsent = f.size(f.coalesce("unavailable_columns", f.array()))
    reads = f.col("op") == Operation.READ.label
    moves = (f.col("op") == Operation.UPDATE.label) & f.col("before").isNotNull()
    rows = (
        frame.groupBy(
            "schema",
            "table",
            "schema_id",
            f.col("op").isin(*_NO_ROWS).alias("no_rows"),
            is_drop().alias("dropped"),
        )
        .agg(
            f.min("sequence_number").alias("first"),
            f.max("sequence_number").alias("last"),
            f.count("*").alias("events"),
            f.max(f.when(truncate, f.col("sequence_number"))).alias("truncated_at"),
            f.max(unsent).alias("unsent"),
            f.count_if(moves).alias("moving"),
            f.count_if(moves & (unsent > 0)).alias("carrying"),
            f.count_if(reads).alias("reads"),
            f.max(f.unix_micros("source.timestamp")).alias("committed_at_us"),
        )
        .collect()
    )
    told = [_told(row) for row in rows]
    after = min((each.first for each in told), default=1) - 1
    return gathered(told, history, after, max((each.last for each in told), default=0))


def _told(row: Row) -> Told:
    values = row.asDict()
    if values["dropped"]:  # which is not about a row
        values["events"] = 0
    return Told(TableId(values.pop("schema"), values.pop("table")), **values)


def gathered(told: Iterable[Told], history: SchemaHistory, after: int, until: int) -> Contents:
    """What was told by table, in the range (after, until] of sequence numbers."""
    tables: dict[TableId, list[Told]] = {}
    drops: dict[TableId, Told] = {}
    committed = 0
    for each in told:
        committed = max(committed, each.committed_at_us)
        if each.dropped:
            drops[each.table] = max(each, drops.get(each.table, each), key=lambda drop: drop.last)
        elif not each.no_rows:
            tables.setdefault(each.table, []).append(each)
    for table in drops.keys() - tables.keys():
        tables[table] = _in_last_shape(drops[table], history)
    changes = (_changes(table, found, history) for table, found in tables.items() if found)
    return Contents(
        tables=tuple(_with_drop(each, drops.get(each.schema.table)) for each in changes),
        after=after,
        until=until,
        committed_at_us=committed,
    )


def _in_last_shape(drop: Told, history: SchemaHistory) -> list[Told]:
    """A drop as the only thing that is told of a table; nothing if the table was never known."""
    known = [schema.schema_id for _, schema in history.schemas() if schema.table == drop.table]
    return [replace(drop, schema_id=known[-1])] if known else []


def _with_drop(changes: TableChanges, drop: Told | None) -> TableChanges:
    if drop is None:
        return changes
    return replace(changes, dropped=Moment(drop.last, drop.committed_at_us))


def _changes(table: TableId, versions: list[Told], history: SchemaHistory) -> TableChanges:
    newest = max(versions, key=lambda each: each.last)
    ordered = [*sorted(versions, key=lambda each: each.first), newest]
    shapes = tuple(Shape(history.schema(each.schema_id), each.last) for each in ordered)
    schema = shapes[-1].schema
    names = {column.name for column in schema.columns}
    return TableChanges(
        table=table.name,
        schema=schema,
        readings={
            each.schema_id: {
                column.name: column for column in shape.schema.columns if column.name in names
            }
            for each, shape in zip(ordered, shapes, strict=True)
        },
        partial=any(each.unsent for each in versions),
        truncated_at=max(_present(each.truncated_at for each in versions), default=None),
        may_move=any(each.moving for each in versions),
        carrying=sum(each.carrying for each in versions),
        shapes=shapes,
        reads_told=sum(each.reads for each in versions),
        others_told=sum(each.events - each.reads for each in versions),
        told=(ordered[0].first - 1, newest.last),
    )


def _present(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def classified(exc: Exception, table: str) -> Exception:
    """Spark's own error classes, as ours where we know what to do about them.

    Of an error of ours in a Python worker it has only the text.
    """
    told = str(exc)
    if found := _IN_WORKER.search(told):
        return DataError(found[1], found[2], where=f"table {table}")
    if "MALFORMED_RECORD_IN_PARSING" in told:
        return DataError(
            "value-mistyped",
            "a row holds a value that does not have its column's declared type",
            where=f"table {table}",
        )
    return exc
