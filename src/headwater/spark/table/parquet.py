"""A folder of appended changes, and the table that they amount to.

    orders/headwater_until=20/…            the changes of a micro-batch, by its last sequence number
    orders/_headwater/snapshot-20/…        the rows after it
    orders/_headwater/snapshot-20.whole    says that they are all there

Spark does not list names that begin with an underscore: who reads the folder reads the changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from headwater.failpoint import failpoint
from headwater.spark.sql import quoted
from headwater.spark.table.files import Files
from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE

BATCH = "headwater_until"
_BATCH = f"{BATCH}="
_SNAPSHOT = "snapshot-"
_WHOLE = ".whole"


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """After how many batches rows are written out, None for never, and whether changes are kept."""

    every: int | None = 50
    keep_changes: bool = True


class Appended:
    """The folder of one table."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        self._path = path
        self._files = Files(session, path)

    def batches(self, after: int = 0) -> list[int]:
        """The micro-batches that were written to the end, each as one file, in order."""
        found = _numbers(self._files.names(self._path), _BATCH)
        return [each for each in found if each > after and self._written(each)]

    def _written(self, batch: int) -> bool:
        names = self._files.names(f"{self._path}/{_BATCH}{batch}")
        return any(name.endswith(".parquet") for name in names)

    def snapshots(self) -> list[int]:
        """The snapshots that are whole, in order."""
        return _numbers(self._files.names(self._own), _SNAPSHOT, _WHOLE)

    @property
    def _own(self) -> str:
        return f"{self._path}/_headwater"

    def applied(self) -> int:
        """The last sequence number that is in the folder, 0 if there is nothing."""
        newest = max(self.snapshots(), default=0)
        return max(self.batches(newest), default=newest)

    def rows(self, key: Sequence[str]) -> DataFrame | None:
        """The table as it stands: the last change of each key since the newest snapshot, or it."""
        newest = max(self.snapshots(), default=0)
        changes = self._changes(self.batches(newest))
        if newest:
            stood = self._session.read.parquet(f"{self._own}/{_SNAPSHOT}{newest}")
            held = stood.withColumn(DELETED_FLAG, f.lit(False))  # noqa: FBT003
            changes = held if changes is None else held.unionByName(changes, True)  # noqa: FBT003
        return None if changes is None else _last(changes, key)

    def _changes(self, batches: Sequence[int]) -> DataFrame | None:
        if not batches:
            return None
        folders = [f"{self._path}/{_BATCH}{each}" for each in batches]
        return self._session.read.option("mergeSchema", "true").parquet(*folders)

    def compact(self, key: Sequence[str], policy: SnapshotPolicy) -> None:
        """Write a snapshot if it is due, and remove what two newer ones make superfluous.

        A process may end anywhere: a snapshot counts when it is marked, and a reader that began
        with the one before still finds all that it listed.
        """
        snapshots = self.snapshots()
        newest = max(snapshots, default=0)
        later = self.batches(newest)
        if policy.every is None or len(later) < policy.every or not key:
            return
        rows = self.rows(key)
        if rows is None:
            return
        failpoint("spark.parquet.before_snapshot")
        place = f"{self._own}/{_SNAPSHOT}{later[-1]}"
        rows.write.mode("overwrite").parquet(place)
        failpoint("spark.parquet.before_mark")
        self._files.mark(f"{place}{_WHOLE}")
        failpoint("spark.parquet.after_mark")
        for old in snapshots[:-1]:
            self._files.remove(f"{self._own}/{_SNAPSHOT}{old}{_WHOLE}")
            self._files.remove(f"{self._own}/{_SNAPSHOT}{old}")
        if not policy.keep_changes:
            for batch in _numbers(self._files.names(self._path), _BATCH):
                if batch <= newest:
                    self._files.remove(f"{self._path}/{_BATCH}{batch}")


def _numbers(names: Sequence[str], prefix: str, suffix: str = "") -> list[int]:
    """The numbers in names of a form."""
    cut = (
        name.removeprefix(prefix).removesuffix(suffix)
        for name in names
        if name.startswith(prefix) and name.endswith(suffix)
    )
    return sorted(int(each) for each in cut if each.isdigit())


def _last(changes: DataFrame, key: Sequence[str]) -> DataFrame:
    names = (f.col(quoted(name)) for name in key)
    newest = Window.partitionBy(*names).orderBy(f.col(SEQUENCE).desc(), DELETED_FLAG)
    ranked = changes.withColumn("__place", f.row_number().over(newest))
    last = ranked.where((f.col("__place") == 1) & ~f.col(DELETED_FLAG))
    return last.drop("__place", DELETED_FLAG)


def current_rows(session: SparkSession, path: str, key: Sequence[str]) -> DataFrame:
    """The rows of the table whose changes are in a folder."""
    rows = Appended(session, path).rows(key)
    # Without a batch, Spark's own words about a folder that holds nothing.
    return session.read.parquet(path) if rows is None else rows
