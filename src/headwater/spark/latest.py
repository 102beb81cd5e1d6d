"""From many changes to one row per key: the last one, complete as far as the source was.

A change of the key is two things at once: its old key goes, its new key comes. A column that the
source did not send, or that an older shape of the table did not have, is not NULL but missing: the
latest value that was sent stands, else the one in the table (INV-10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from headwater.event import Operation, TableSchema
from headwater.spark.columns import image_ddl, typed

SEQ = "__sequence"
DELETED = "__deleted"
MISSING = "__missing"
PARTIAL = "__partial"

_FAIL = {"mode": "FAILFAST"}


def _flag(*, value: bool) -> SparkColumn:
    return f.lit(value)


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What a micro-batch holds for one table.

    `lacking` names, per schema id, the columns of the newest shape that the older one has not;
    `truncated_at` is the last truncate, before which nothing counts.
    """

    table: str
    schema: TableSchema
    lacking: Mapping[int, tuple[str, ...]]
    partial: bool
    truncated_at: int | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names of the newest shape."""
        return tuple(column.name for column in self.schema.columns)


def latest_per_key(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """One row per key: SEQ, DELETED, the typed columns, and what is missing of them."""
    rows = row_changes(frame, changes, after)
    if changes.partial or any(changes.lacking.values()):
        return _merged(rows, changes)
    order = Window.partitionBy(*map(f.col, _key(changes))).orderBy(f.col(SEQ).desc())
    place = "__place"
    last = rows.withColumn(place, f.row_number().over(order)).where(f.col(place) == 1)
    return last.drop(place)


def row_changes(frame: DataFrame, changes: TableChanges, after: int) -> DataFrame:
    """Every change of the table with typed columns, a changed key as a delete and an upsert."""
    floor = max(after, changes.truncated_at or 0)
    delete = f.col("op") == Operation.DELETE.label
    rowless = [Operation.TRUNCATE.label, Operation.SCHEMA_CHANGE.label]
    parsed = (
        frame.where((f.col("table") == changes.table) & (f.col("sequence_number") > floor))
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
    moved = moved & ~_same_key(changes)
    split = parsed.withColumn(
        "__leaves",
        f.explode(
            f.when(moved, f.array(_flag(value=True), _flag(value=False))).otherwise(
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
    )


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


def _merged(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """The last value that was sent, column by column."""
    seq = f.col(SEQ)
    key = _key(changes)
    others = [name for name in changes.columns if name not in key]
    sent = {name: f.when(~f.array_contains(MISSING, name), seq) for name in others}
    last = rows.groupBy(*map(f.col, key)).agg(
        f.max(seq).alias(SEQ),
        f.max_by(DELETED, seq).alias(DELETED),
        *(f.max_by(f.col(name), sent[name]).alias(name) for name in others),
        f.array_compact(
            f.array(*(f.when(f.max(sent[name]).isNull(), f.lit(name)) for name in others))
        ).alias(MISSING),
        f.min(PARTIAL).alias(PARTIAL),
    )
    return last.select(SEQ, DELETED, *changes.columns, MISSING, PARTIAL)
