"""Rows of a snapshot in a table that nobody has seen: as each mode stores them, and as changes."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from headwater.spark.change.changes import (
    AT,
    DELETED,
    ROW,
    SEQ,
    TableChanges,
    committed_at,
    flag,
    key_columns,
    reads_of,
    row_changes,
    whole,
)
from headwater.spark.change.columns import typed
from headwater.spark.change.task import Task
from headwater.spark.modes import Mode
from headwater.spark.table.layout import (
    CURRENT,
    DELETED_FLAG,
    MIRROR,
    SCD2,
    SEQUENCE,
    SOFT_DELETE,
    VALID_FROM,
    Layout,
)

# What the columns that a mode adds hold for a row that was just read; the others hold nothing.
NEW_ROW: Mapping[str, str | bool] = {
    SEQUENCE: SEQ,
    VALID_FROM: AT,
    DELETED_FLAG: False,
    CURRENT: True,
}
# An append log shows what happened as it happens, and half of that is no half table.
LOADED: dict[Mode, Layout] = {"mirror": MIRROR, "soft_delete": SOFT_DELETE, "scd2": SCD2}


def read_rows(task: Task, layout: Layout, after: int) -> DataFrame:
    """The batch's rows of a snapshot as the table stores them: new, and nothing ended them yet."""
    told = {SEQ: f.col("sequence_number"), AT: committed_at()}
    added = {name: NEW_ROW.get(name) for name in layout}
    return reads_of(task.frame, task.changes, after).select(
        *(typed(column, ROW).alias(column.name) for column in task.changes.schema.columns),
        *(
            (told[what] if isinstance(what, str) else f.lit(what)).cast(layout[name]).alias(name)
            for name, what in added.items()
        ),
    )


def as_changes(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Stored rows of a snapshot as the changes that they were."""
    at = f.col(VALID_FROM) if VALID_FROM in rows.columns else f.lit(None).cast("timestamp")
    told = {SEQ: f.col(SEQUENCE), AT: at, DELETED: flag(value=False)}
    return whole(rows.withColumns(told), changes)


def concerned(
    rows: DataFrame, frame: DataFrame, changes: TableChanges, again: DataFrame | None
) -> DataFrame:
    """The stored rows that the changes are about: by their key; by a truncate all of them.

    A key that was read again, in `again`, has a past of its own.
    """
    if changes.emptied_at:
        return rows
    key = f.struct(*key_columns(changes))
    keys = row_changes(frame, changes, 0).select(key.alias("__touched"))
    if again is not None:
        keys = keys.union(again.select(key))
    return rows.join(keys.distinct(), key == f.col("__touched"), "left_semi")


def read_again(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """The keys of which more than one row was read."""
    return rows.groupBy(*key_columns(changes)).count().where("count > 1").drop("count")


def doubled(rows: DataFrame, changes: TableChanges, mode: Mode) -> DataFrame:
    """What stands more than once and must not: a key, or one version of a history."""
    return rows.groupBy(*_told_apart_by(changes, mode)).count().where("count > 1")


def once(rows: DataFrame, changes: TableChanges, mode: Mode) -> DataFrame:
    """The newest of what stands more than once."""
    key = Window.partitionBy(*_told_apart_by(changes, mode))
    order = key.orderBy(f.col(SEQUENCE).desc())
    ranked = rows.withColumn("__place", f.row_number().over(order))
    return ranked.where("__place = 1").drop("__place")


def _told_apart_by(changes: TableChanges, mode: Mode) -> list[Column]:
    return [*key_columns(changes), *([f.col(SEQUENCE)] if mode == "scd2" else [])]
