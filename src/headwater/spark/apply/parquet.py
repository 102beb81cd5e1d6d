"""Parquet: an append log per table, and its rows from time to time. It needs no jar.

Parquet has no MERGE.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from headwater.contract import SchemaHistory
from headwater.errors import HeadwaterError
from headwater.failpoint import failpoint
from headwater.spark.change.changes import TableChanges, row_changes
from headwater.spark.change.contents import classified, contents
from headwater.spark.table.fit import in_one_shape
from headwater.spark.table.parquet import Appended, SnapshotPolicy
from headwater.spark.table.path import table_path
from headwater.spark.table.standing import appended


@dataclass(frozen=True, slots=True)
class AppendLog:
    """Appends every change, typed, to a folder per table.

    Delivery: exactly once per table and batch: a batch has a folder of its own, named by its last
    sequence number, and a table takes only what comes after the newest of them.
    """

    target: str
    history: SchemaHistory
    log_id: str
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Append one micro-batch."""
        del batch_id
        failpoint("spark.batch.begin")
        frame.persist()
        try:
            batch = contents(frame, self.history)
            for changes in batch.tables:
                try:
                    self._append(frame, changes, batch.until)
                except HeadwaterError:
                    raise
                except Exception as exc:
                    raise classified(exc, changes.table) from exc
        finally:
            frame.unpersist()
        failpoint("spark.batch.end")

    def _append(self, frame: DataFrame, changes: TableChanges, until: int) -> None:
        folder = table_path(self.target, changes.schema.table)
        table = Appended(frame.sparkSession, folder)
        table.claim(self.log_id, changes.schema.primary_key)
        applied = table.applied()
        if applied < until:
            # What a truncate leaves nothing of is appended all the same: these are all changes.
            rows = row_changes(frame, in_one_shape(changes), applied)
            emptied = changes.truncated_at if changes.emptied(applied) else None
            table.append(appended(rows), until, emptied)
        table.compact(changes.schema.primary_key, self.snapshots)
