"""What a table is asked to take in."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from headwater.spark.change.changes import TableChanges


@dataclass(frozen=True, slots=True)
class Task:
    """A micro-batch, what it holds for one table, and its last sequence number."""

    frame: DataFrame
    changes: TableChanges
    until: int
