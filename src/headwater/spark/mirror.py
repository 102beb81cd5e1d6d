"""Mirror: one row per key, equal to the source's (SCD1)."""

from __future__ import annotations

from headwater.spark.changes import row_changes
from headwater.spark.delta import DeltaTarget, Standing
from headwater.spark.latest import latest_per_key
from headwater.spark.layout import MIRROR
from headwater.spark.moves import completed
from headwater.spark.task import Task


def mirror(table: DeltaTarget, task: Task, standing: Standing) -> None:
    """Bring the table to the end of the batch."""
    changes = task.changes
    is_new = table.prepare(changes.schema, MIRROR)
    emptied = changes.emptied(standing.applied)
    rows = row_changes(task.frame, changes, changes.floor(standing.applied))
    if changes.carrying:
        rows = completed(rows, changes, None if emptied else table.rows(standing))
    last = latest_per_key(rows, changes, emptied=emptied)
    if is_new:
        table.fill(last, changes, task.until)
    else:
        table.merge(last, changes, task.until)
