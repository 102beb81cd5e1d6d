"""Parquet: an append log per table, and its rows from time to time. It needs no jar.

Parquet has no MERGE.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from headwater.contract import SchemaHistory
from headwater.errors import HeadwaterError
from headwater.failpoint import failpoint
from headwater.spark.apply.evolve import in_one_shape
from headwater.spark.change.changes import AT, DELETED, MISSING, MOVED, PARTIAL, SEQ, row_changes
from headwater.spark.change.contents import classified, contents
from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE
from headwater.spark.table.parquet import BATCH, Appended, SnapshotPolicy
from headwater.spark.table.path import table_path


@dataclass(frozen=True, slots=True)
class AppendLog:
    """Appends every change, typed, to a folder per table.

    Delivery: exactly once per batch: a batch has a folder of its own, named by its last sequence
    number, and writing it again replaces it.
    """

    target: str
    history: SchemaHistory
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Append one micro-batch."""
        del batch_id
        failpoint("spark.batch.begin")
        frame.persist()
        try:
            batch = contents(frame, self.history)
            for changes in batch.tables:
                folder = table_path(self.target, changes.schema.table)
                fitted = in_one_shape(changes)
                rows = row_changes(frame, fitted, changes.floor(0))
                rows = rows.drop(AT, MISSING, PARTIAL, MOVED)
                named = rows.withColumnsRenamed({SEQ: SEQUENCE, DELETED: DELETED_FLAG})
                try:
                    failpoint("spark.table.before_write")
                    path = f"{folder}/{BATCH}={batch.until}"
                    named.coalesce(1).write.mode("overwrite").parquet(path)
                    appended = Appended(frame.sparkSession, folder)
                    appended.compact(changes.schema.primary_key, self.snapshots)
                except HeadwaterError:
                    raise
                except Exception as exc:
                    raise classified(exc, changes.table) from exc
        finally:
            frame.unpersist()
        failpoint("spark.batch.end")
