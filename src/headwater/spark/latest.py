"""From many changes to one row per key: the last one, complete as far as the source was.

A change of the key is two things at once: its old key goes, its new key comes. A column that the
source did not send, or that an older shape of the table did not have, is not NULL but missing: the
latest value that was sent stands, else the one in the table (INV-10). Neither may come from a row
that stood under the key before: a delete, a move and a truncate end what was known of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from headwater.event import Operation, TableSchema
from headwater.spark.columns import image_ddl, quoted, typed

SEQ = "__sequence"
DELETED = "__deleted"
MISSING = "__missing"
PARTIAL = "__partial"
MOVED = "__moved"

_FAIL = {"mode": "FAILFAST"}


def _flag(*, value: bool) -> SparkColumn:
    return f.lit(value)


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What a micro-batch holds for one table.

    `lacking` names, per schema id, the columns of the newest shape that the older one has not;
    `truncated_at` is the last truncate, before which nothing counts; `carrying` counts the changes
    of a key that did not bring every column along.
    """

    table: str
    schema: TableSchema
    lacking: Mapping[int, tuple[str, ...]]
    partial: bool
    truncated_at: int | None
    carrying: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names of the newest shape."""
        return tuple(column.name for column in self.schema.columns)

    @property
    def others(self) -> tuple[str, ...]:
        """Those that are not of the key."""
        return tuple(name for name in self.columns if name not in self.schema.primary_key)

    @property
    def merges(self) -> bool:
        """Whether a change may say nothing about a column."""
        return self.partial or any(self.lacking.values())

    def emptied(self, after: int) -> bool:
        """Whether a table that has come to `after` is emptied by this batch."""
        return (self.truncated_at or 0) > after


def latest_per_key(rows: DataFrame, changes: TableChanges, *, emptied: bool) -> DataFrame:
    """One row per key: SEQ, DELETED, the typed columns, and what is missing of them."""
    if changes.merges:
        return _merged(rows, changes, emptied=emptied)
    order = Window.partitionBy(*key_columns(changes)).orderBy(f.col(SEQ).desc())
    place = "__place"
    last = rows.withColumn(place, f.row_number().over(order)).where(f.col(place) == 1)
    return last.drop(place)


def row_changes(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """Every change of the table with typed columns, a changed key as a delete and an upsert."""
    floor = max(after, changes.truncated_at or 0)
    table = changes.schema.table
    ours = f.col("schema").eqNullSafe(f.lit(table.schema)) & (f.col("table") == table.name)
    delete = f.col("op") == Operation.DELETE.label
    rowless = [Operation.TRUNCATE.label, Operation.SCHEMA_CHANGE.label]
    parsed = (
        frame.where(ours & (f.col("sequence_number") > floor))
        .where(~f.col("op").isin(rowless))
        .withColumn(
            "__row",
            f.from_json(
                f.when(delete, f.col("before")).otherwise(f.col("after")),
                image_ddl(changes.schema.columns),
                _FAIL,
            ),
        )
        .withColumn("__old", f.from_json("before", _key_ddl(changes), _FAIL))
    )
    moved = (f.col("op") == Operation.UPDATE.label) & f.col("before").isNotNull()
    split = parsed.withColumn(MOVED, moved & ~_same_key(changes)).withColumn(
        "__leaves",
        f.explode(
            f.when(f.col(MOVED), f.array(_flag(value=True), _flag(value=False))).otherwise(
                f.array(_flag(value=False))
            )
        ),
    )
    return split.select(
        f.col("sequence_number").alias(SEQ),
        (delete | f.col("__leaves")).alias(DELETED),
        *_columns(changes),
        _missing(changes).alias(MISSING),
        (f.size(f.coalesce("unavailable_columns", f.array())) > 0).alias(PARTIAL),
        MOVED,
    )


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


def _key(changes: TableChanges) -> tuple[str, ...]:
    return changes.schema.primary_key


def _key_ddl(changes: TableChanges) -> str:
    keys = set(_key(changes))
    return image_ddl([column for column in changes.schema.columns if column.name in keys])


def _same_key(changes: TableChanges) -> SparkColumn:
    same = _flag(value=True)
    for name in _key(changes):
        same = same & f.col("__row").getField(name).eqNullSafe(f.col("__old").getField(name))
    return same


def _columns(changes: TableChanges) -> list[SparkColumn]:
    chosen = []
    for column in changes.schema.columns:
        value = typed(column, "__row")
        if column.name in _key(changes):
            value = f.when(f.col("__leaves"), typed(column, "__old")).otherwise(value)
        chosen.append(value.alias(column.name))
    return chosen


def _missing(changes: TableChanges) -> SparkColumn:
    """Names of the columns that this event says nothing about."""
    unsent = f.coalesce(f.col("unavailable_columns"), f.array().cast("array<string>"))
    for schema_id, names in changes.lacking.items():
        if names:
            lacking = f.array(*map(f.lit, names))
            older = f.col("schema_id") == schema_id
            unsent = f.when(older, f.array_union(unsent, lacking)).otherwise(unsent)
    return unsent


def _merged(rows: DataFrame, changes: TableChanges, *, emptied: bool) -> DataFrame:
    """The last value that was sent, column by column, since a row last left or came to the key.

    A row that came so and of which a part is still unknown cannot stand, nor can what it replaced.
    """
    seq = f.col(SEQ)
    sent = {name: f.when(says(name), seq) for name in changes.others}
    at = {name: f"__at_{place}" for place, name in enumerate(changes.others)}
    last = rows.groupBy(*key_columns(changes)).agg(
        f.max(seq).alias(SEQ),
        f.max_by(DELETED, seq).alias(DELETED),
        f.max(f.when(f.col(DELETED) | f.col(MOVED), seq)).alias("__turn"),
        f.max(f.when(~f.col(DELETED) & ~f.col(PARTIAL), seq)).alias("__whole"),
        *(f.max_by(quoted(name), order).alias(name) for name, order in sent.items()),
        *(f.max(order).alias(at[name]) for name, order in sent.items()),
    )
    known = {name: _since_turn(column) for name, column in at.items()}
    unsent = names_where({name: ~column for name, column in known.items()})
    partial = ~_since_turn("__whole") & (f.size(unsent) > 0)
    afresh = f.col("__turn").isNotNull() | _flag(value=emptied)
    return last.select(
        seq,
        (f.col(DELETED) | (afresh & partial)).alias(DELETED),
        *key_columns(changes),
        *(f.when(column, f.col(quoted(name))).alias(name) for name, column in known.items()),
        f.when(~afresh, unsent).otherwise(names_where({})).alias(MISSING),
        partial.alias(PARTIAL),
    )


def _since_turn(column: str) -> SparkColumn:
    """Whether a sequence number is there, and from after what was known before had ended."""
    return f.coalesce(f.col(column) >= f.col("__turn"), f.col(column).isNotNull())
