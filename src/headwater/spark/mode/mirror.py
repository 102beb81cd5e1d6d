"""Mirror: one row per key, equal to the source's (SCD1)."""

from __future__ import annotations

from pyspark.sql.functions import col

from headwater.spark.change.changes import DELETED, PARTIAL, SEQ
from headwater.spark.change.latest import latest_per_key
from headwater.spark.change.moves import completed
from headwater.spark.change.task import Task, task_rows
from headwater.spark.sql import quoted
from headwater.spark.table.layout import MIRROR, SEQUENCE
from headwater.spark.table.merge import merge_sql
from headwater.spark.table.pruning import pruned
from headwater.spark.table.target import Standing, Target


def mirror(table: Target, task: Task, standing: Standing) -> None:
    """Bring the table to the end of the batch."""
    changes = task.changes
    is_new = table.prepare(changes.schema, MIRROR)
    emptied = changes.emptied(standing.applied)
    rows = task_rows(task, changes.floor(standing.applied))
    if changes.carrying:
        rows = completed(rows, changes, None if emptied else table.rows(standing))
    last = latest_per_key(rows, changes, emptied=emptied)
    if is_new:
        kept = last.where(f"NOT {DELETED} AND NOT {PARTIAL}")
        names = map(quoted, changes.columns)
        table.fill(kept.select(*names, col(SEQ).alias(SEQUENCE)), task.until)
    else:
        with pruned(last, changes.schema.primary_key, standing) as (kept, within):
            table.write(kept, task.until, lambda name, view: merge_sql(name, view, changes, within))
