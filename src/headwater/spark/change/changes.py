"""What a micro-batch says of one table: its events, and the changes of rows that they are.

A change of the key is two things at once: its old key goes, its new key comes. A column that the
source did not send, or that an older shape of the table did not have, is not NULL but missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import Column, Operation, TableSchema
from headwater.spark.change.columns import typed
from headwater.spark.change.reading import (
    Readings,
    in_table_names,
    with_forgiven_image,
    with_image,
)
from headwater.spark.sql import quoted

SEQ = "__sequence"
DELETED = "__deleted"
MISSING = "__missing"
PARTIAL = "__partial"
MOVED = "__moved"
AT = "__at"
ROW = "__row"


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of the table in the batch, and the last event that has it."""

    schema: TableSchema
    last: int


@dataclass(frozen=True, slots=True)
class Moment:
    """A sequence number, and its commit time in microseconds."""

    sequence: int
    at_us: int


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What a micro-batch holds for one table.

    `schema` is what its rows are read as; `readings` has, by schema id, the shape's own form of
    each column that it tells of. `shapes` are in the order of their coming, the newest last.
    `truncated_at` is the last truncate, before which nothing counts; `may_move` is false if no
    update tells what was before it, so none can have changed a key; `carrying` counts the changes
    of a key that did not bring every column along. Rows of a snapshot and other events are counted
    apart. If it is `forgiving`, a value that is not of its column's type is read as NULL. `told` is
    the range (after, until] of sequence numbers that its events lie in. `dropped` is when the
    source dropped it last, which its own events do not tell.
    """

    table: str
    schema: TableSchema
    readings: Readings
    partial: bool
    truncated_at: int | None
    may_move: bool = True
    carrying: int = 0
    shapes: tuple[Shape, ...] = ()
    reads_told: int = 0
    others_told: int = 0
    forgiving: bool = False
    told: tuple[int, int] | None = None
    dropped: Moment | None = None

    @property
    def events(self) -> int:
        """How many events about rows there are."""
        return self.reads_told + self.others_told

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.schema.columns)

    @property
    def others(self) -> tuple[str, ...]:
        """Those that are not of the key."""
        return tuple(name for name in self.columns if name not in self.schema.primary_key)

    @property
    def lacking(self) -> dict[int, tuple[str, ...]]:
        """By schema id: the columns that the shape has not."""
        return {
            schema_id: tuple(name for name in self.columns if name not in reading)
            for schema_id, reading in self.readings.items()
        }

    @property
    def merges(self) -> bool:
        """Whether a change may say nothing about a column."""
        return self.partial or any(self.lacking.values())

    @property
    def emptied_at(self) -> int:
        """When the table was emptied last, by a truncate or because it went; 0 if it was not."""
        return max(self.truncated_at or 0, 0 if self.dropped is None else self.dropped.sequence)

    def floor(self, after: int) -> int:
        """Where a table that has come to `after` and keeps only what is goes on."""
        return max(after, self.emptied_at)

    def emptied(self, after: int) -> bool:
        """Whether a table that has come to `after` is emptied by this batch."""
        return self.emptied_at > after


def told_of(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """The table's events after a position that are about rows."""
    table = changes.schema.table
    ours = f.col("schema").eqNullSafe(f.lit(table.schema)) & (f.col("table") == table.name)
    return frame.where(ours & (f.col("sequence_number") > after) & ~_is(Operation.SCHEMA_CHANGE))


def events_of(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """The table's events after a position that are about rows, with the row of each parsed."""
    image = f.when(_is(Operation.DELETE), f.col("before")).otherwise(f.col("after"))
    rows = told_of(frame, changes, after).withColumn("__image", image)
    return _with_row(rows, "__image", changes)


def reads_of(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """Those of the table's events that are rows of a snapshot, with the row of each parsed."""
    reads = told_of(frame, changes, after).where(_is(Operation.READ))
    return _with_row(reads, "after", changes)


def _with_row(rows: DataFrame, image: str, changes: TableChanges) -> DataFrame:
    columns, readings = changes.schema.columns, changes.readings
    if changes.forgiving:
        return with_forgiven_image(rows, ROW, image, columns, _key(changes), readings)
    return with_image(rows, ROW, image, columns, readings)


def others_of(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """The table's events about rows that are no rows of a snapshot, as they are."""
    return told_of(frame, changes, after).where(~_is(Operation.READ))


def row_changes(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """Every change of a row with typed columns, a changed key as a delete and an upsert."""
    rows = events_of(frame, changes, after).where(~_is(Operation.TRUNCATE))
    split = _split(rows, changes) if changes.may_move else _unmoved(rows)
    return split.select(
        f.col("sequence_number").alias(SEQ),
        committed_at().alias(AT),
        (_is(Operation.DELETE) | f.col("__leaves")).alias(DELETED),
        *_columns(changes),
        missing(changes).alias(MISSING),
        (f.size(f.coalesce("unavailable_columns", f.array())) > 0).alias(PARTIAL),
        MOVED,
    )


def _unmoved(rows: DataFrame) -> DataFrame:
    return rows.withColumns({MOVED: flag(value=False), "__leaves": flag(value=False)})


def _split(rows: DataFrame, changes: TableChanges) -> DataFrame:
    parsed = with_image(rows, "__old", "before", _keys(changes), changes.readings)
    moved = _is(Operation.UPDATE) & f.col("before").isNotNull()
    return parsed.withColumn(MOVED, moved & ~_same_key(changes)).withColumn(
        "__leaves",
        f.explode(
            f.when(f.col(MOVED), f.array(flag(value=True), flag(value=False))).otherwise(
                f.array(flag(value=False))
            )
        ),
    )


def whole(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Changes of rows that tell every column: SEQ, AT, DELETED and the typed columns are there."""
    no = flag(value=False)
    return rows.select(
        SEQ,
        AT,
        DELETED,
        *map(quoted, changes.columns),
        names_where({}).alias(MISSING),
        no.alias(PARTIAL),
        no.alias(MOVED),
    )


def truncates(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """When the table was emptied, after a position."""
    counts = _is(Operation.TRUNCATE) & flag(value=changes.truncated_at is not None)
    emptied = events_of(frame, changes, after).where(counts)
    found = emptied.select(f.col("sequence_number").alias(SEQ), committed_at().alias(AT))
    dropped = changes.dropped
    if dropped is None or dropped.sequence <= after:
        return found
    at = f.timestamp_micros(f.lit(dropped.at_us))
    gone = frame.sparkSession.range(1).select(f.lit(dropped.sequence).alias(SEQ), at.alias(AT))
    return found.unionByName(gone)


def committed_at() -> SparkColumn:
    """An event's commit time at the source."""
    return f.col("source.timestamp")


def flag(*, value: bool) -> SparkColumn:
    """A constant."""
    return f.lit(value)


def key_columns(changes: TableChanges) -> list[SparkColumn]:
    """The columns of the key."""
    return [f.col(quoted(name)) for name in _key(changes)]


def names_where(conditions: Mapping[str, SparkColumn]) -> SparkColumn:
    """The names whose condition holds."""
    chosen = (f.when(condition, f.lit(name)) for name, condition in conditions.items())
    return f.array_compact(f.array(*chosen)).cast("array<string>")


def says(name: str) -> SparkColumn:
    """Whether a change says what a column is."""
    return ~f.col(DELETED) & ~f.array_contains(MISSING, name)


def missing(changes: TableChanges, unsent_in: str = "unavailable_columns") -> SparkColumn:
    """Names of the columns that an event says nothing about."""
    said = f.coalesce(f.col(unsent_in), f.array().cast("array<string>"))
    unsent = said
    for schema_id, names in changes.lacking.items():
        theirs = in_table_names(said, changes.readings[schema_id])
        if names or theirs is not said:
            lacking = f.array(*map(f.lit, names)).cast("array<string>")
            is_it = f.col("schema_id") == schema_id
            unsent = f.when(is_it, f.array_union(theirs, lacking)).otherwise(unsent)
    return unsent


def _is(op: Operation) -> SparkColumn:
    return f.col("op") == op.label


def _key(changes: TableChanges) -> tuple[str, ...]:
    return changes.schema.primary_key


def _keys(changes: TableChanges) -> list[Column]:
    keys = set(_key(changes))
    return [column for column in changes.schema.columns if column.name in keys]


def _same_key(changes: TableChanges) -> SparkColumn:
    same = flag(value=True)
    for name in _key(changes):
        same = same & f.col(ROW).getField(name).eqNullSafe(f.col("__old").getField(name))
    return same


def _columns(changes: TableChanges) -> list[SparkColumn]:
    chosen = []
    for column in changes.schema.columns:
        value = typed(column, ROW)
        if changes.may_move and column.name in _key(changes):
            value = f.when(f.col("__leaves"), typed(column, "__old")).otherwise(value)
        chosen.append(value.alias(column.name))
    return chosen
