"""Mirror: one row per key, equal to the source's (SCD1)."""

from __future__ import annotations

from pyspark.sql.functions import col

from headwater.spark.change.changes import DELETED, PARTIAL, SEQ
from headwater.spark.change.latest import latest_per_key
from headwater.spark.change.moves import completed
from headwater.spark.change.task import Task, last_rows
from headwater.spark.sql import quoted
from headwater.spark.table.layout import MIRROR, SEQUENCE
from headwater.spark.table.merge import merge_sql
from headwater.spark.table.pruning import pruned
from headwater.spark.table.target import Standing, Target, Whole


def mirror(table: Target, task: Task, standing: Standing) -> None:
    """Bring the table to the end of the batch."""
    changes = task.changes
    is_new = table.prepare(changes.schema, MIRROR)
    emptied = changes.emptied(standing.applied)
    rows = last_rows(task, changes.floor(standing.applied))
    if changes.carrying:
        rows = completed(rows, changes, None if emptied else table.rows(standing))
    last = latest_per_key(rows, changes, emptied=emptied)
    stored = [*(col(quoted(name)) for name in changes.columns), col(SEQ).alias(SEQUENCE)]
    if is_new:
        kept = last.where(f"NOT {DELETED} AND NOT {PARTIAL}")
        table.fill(kept.select(*stored), task.until)
        return
    key = changes.schema.primary_key
    rows = last.select(*stored, DELETED)
    # The table has nothing from after its position, so every row here is newer than its own.
    is_whole = not changes.merges and not emptied
    with pruned(rows if is_whole else last, key, standing) as reach:
        table.write(
            last,
            task.until,
            lambda target, view: merge_sql(target, view, changes, reach.condition()),
            Whole(rows, key, DELETED, reach) if is_whole else None,
        )
