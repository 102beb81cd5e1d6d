"""What a table is asked to take in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.spark.change.changes import SEQ, TableChanges, row_changes


@dataclass(frozen=True, slots=True)
class Task:
    """A micro-batch, what it holds for one table, and its last sequence number.

    `reads` are rows that came before in a load, as changes: between those of the batch by sequence.
    `typed` gives the changes after a position without a look at `frame`, where that is possible; of
    those that have one key, only the last need be among them.
    """

    frame: DataFrame
    changes: TableChanges
    until: int
    reads: DataFrame | None = None
    typed: Callable[[int], DataFrame] | None = None


def last_rows(task: Task, after: int) -> DataFrame:
    """Changes of rows after a position, at least the last one of each key."""
    return task_rows(task, after) if task.typed is None else task.typed(after)


def task_rows(task: Task, after: int) -> DataFrame:
    """Every change of a row after a position."""
    rows = row_changes(task.frame, task.changes, after)
    if task.reads is None:
        return rows
    return rows.unionByName(task.reads.where(f.col(SEQ) > after))
