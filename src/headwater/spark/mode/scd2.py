"""SCD2: one row per version of a row, with when it began to hold and when it ceased to.

A version is known by its key and the sequence number of the change that made it. Sequence numbers
order versions; commit times may tie, and run back when a server's clock is set back. So a version
begins at the latest time that its row's life has seen: the versions of a life never overlap. The
stored current version carries that time, so it does not matter where a batch is cut.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window, WindowSpec
from pyspark.sql import functions as f

from headwater.spark.change.changes import AT, DELETED, SEQ, TableChanges, flag, key_columns
from headwater.spark.change.lives import HELD, whole_changes
from headwater.spark.change.task import Task
from headwater.spark.sql import quoted
from headwater.spark.table.layout import CURRENT, SCD2, SEQUENCE, TO_SEQUENCE, VALID_FROM, VALID_TO
from headwater.spark.table.pruning import pruned
from headwater.spark.table.target import Standing, Target
from headwater.spark.table.upsert import Upsert

_AS_CHANGES = {SEQUENCE: SEQ, VALID_FROM: AT}
_LIFE = "__life"
# A row that was read beside its changes has its own time, until it is known what came before it.
_IS_NEWS = f"s.{TO_SEQUENCE} IS NOT NULL OR s.{VALID_FROM} > t.{VALID_FROM}"


def scd2(table: Target, task: Task, standing: Standing) -> None:
    """Bring the table to the end of the batch."""
    changes = task.changes
    table.prepare(changes.schema, SCD2)
    stored = table.rows(standing)
    if stored is not None:
        # By the end's absence: Delta counts nulls, and skips files in which every version ended.
        current = stored.where(f.col(TO_SEQUENCE).isNull())
        stored = current.withColumnsRenamed(_AS_CHANGES).withColumn(DELETED, flag(value=False))
    told = _at_latest_times(whole_changes(task, standing.applied, stored), changes)
    order = _by_key(changes)
    ended = told.withColumns(
        {TO_SEQUENCE: f.lead(SEQ).over(order), VALID_TO: f.lead(AT).over(order)}
    )
    still = f.col(TO_SEQUENCE).isNull()
    versions = ended.where(~f.col(DELETED) & ~(f.col(HELD) & still)).select(
        *map(quoted, changes.columns),
        f.col(SEQ).alias(SEQUENCE),
        f.col(AT).alias(VALID_FROM),
        *(TO_SEQUENCE, VALID_TO, still.alias(CURRENT)),
    )
    with pruned(versions, changes.schema.primary_key, standing) as reach:
        upsert = Upsert(
            columns=(*changes.columns, *SCD2),
            same=(*changes.schema.primary_key, SEQUENCE),
            updates=(VALID_FROM, TO_SEQUENCE, VALID_TO, CURRENT),
            when=f"t.{TO_SEQUENCE} IS NULL AND ({_IS_NEWS})",
            within=reach.condition(),
        )
        table.write(versions, task.until, upsert)


def _by_key(changes: TableChanges) -> WindowSpec:
    return Window.partitionBy(*key_columns(changes)).orderBy(SEQ)


def _at_latest_times(rows: DataFrame, changes: TableChanges) -> DataFrame:
    """Each change at the latest time so far in its row's life; a delete is the last of its life."""
    order = _by_key(changes)
    ended = f.count_if(DELETED).over(order.rowsBetween(Window.unboundedPreceding, -1))
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    # Lives only go up, so the greatest pair is the latest time of the newest life.
    latest = f.max(f.struct(_LIFE, AT)).over(so_far)
    return rows.withColumn(_LIFE, ended).withColumn(AT, latest[AT]).drop(_LIFE)
