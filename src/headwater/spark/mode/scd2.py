"""SCD2: one row per version of a row, with when it began to hold and when it ceased to.

A version is known by its key and the sequence number of the change that made it. Sequence numbers
order versions; commit times are told with them, but they may tie and run backwards.
"""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as f

from headwater.spark.change.changes import AT, DELETED, SEQ, flag, key_columns
from headwater.spark.change.lives import HELD, whole_changes
from headwater.spark.change.task import Task
from headwater.spark.sql import quoted
from headwater.spark.table.layout import CURRENT, SCD2, SEQUENCE, TO_SEQUENCE, VALID_FROM, VALID_TO
from headwater.spark.table.pruning import pruned
from headwater.spark.table.target import Standing, Target
from headwater.spark.table.upsert import Upsert

_AS_CHANGES = {SEQUENCE: SEQ, VALID_FROM: AT}


def scd2(table: Target, task: Task, standing: Standing) -> None:
    """Bring the table to the end of the batch."""
    changes = task.changes
    table.prepare(changes.schema, SCD2)
    stored = table.rows(standing)
    if stored is not None:
        # By the end's absence: Delta counts nulls, and skips files in which every version ended.
        current = stored.where(f.col(TO_SEQUENCE).isNull())
        stored = current.withColumnsRenamed(_AS_CHANGES).withColumn(DELETED, flag(value=False))
    told = whole_changes(task, standing.applied, stored)
    order = Window.partitionBy(*key_columns(changes)).orderBy(SEQ)
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
            updates=(TO_SEQUENCE, VALID_TO, CURRENT),
            when=f"t.{TO_SEQUENCE} IS NULL AND s.{TO_SEQUENCE} IS NOT NULL",
            within=reach.condition(),
        )
        table.write(versions, task.until, upsert)
