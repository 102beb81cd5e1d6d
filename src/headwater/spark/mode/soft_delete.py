"""Soft delete: a mirror in which rows that are gone stay, marked, as they last were."""

from __future__ import annotations

from pyspark.sql import functions as f

from headwater.spark.change.changes import AT, DELETED, SEQ, key_columns
from headwater.spark.change.lives import HELD, whole_changes
from headwater.spark.change.task import Task
from headwater.spark.sql import quoted
from headwater.spark.table.layout import DELETED_AT, DELETED_FLAG, SEQUENCE, SOFT_DELETE
from headwater.spark.table.pruning import pruned
from headwater.spark.table.target import Standing, Target
from headwater.spark.table.upsert import Upsert

_AS_CHANGES = {SEQUENCE: SEQ, DELETED_FLAG: DELETED, DELETED_AT: AT}


def soft_delete(table: Target, task: Task, standing: Standing) -> None:
    """Bring the table to the end of the batch."""
    changes = task.changes
    table.prepare(changes.schema, SOFT_DELETE)
    stored = table.rows(standing)
    held = None if stored is None else stored.withColumnsRenamed(_AS_CHANGES)
    told = whole_changes(task, standing.applied, held)
    lived = f.when(~f.col(DELETED), f.col(SEQ))
    last = told.groupBy(*key_columns(changes)).agg(
        f.max(SEQ).alias(SEQUENCE),
        f.max_by(DELETED, SEQ).alias(DELETED_FLAG),
        f.max_by(f.when(f.col(DELETED), f.col(AT)), SEQ).alias(DELETED_AT),
        f.max_by(HELD, SEQ).alias(HELD),
        *(f.max_by(quoted(name), lived).alias(name) for name in changes.others),
    )
    names = (*changes.columns, *SOFT_DELETE)
    newer = f"s.{SEQUENCE} > t.{SEQUENCE}"
    key = changes.schema.primary_key
    rows = last.where(~f.col(HELD))
    with pruned(rows, key, standing) as reach:
        upsert = Upsert(names, key, updates=names, when=newer, within=reach.condition())
        table.write(rows, task.until, upsert)
