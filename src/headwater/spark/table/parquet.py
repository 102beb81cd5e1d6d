"""A folder of appended changes, and the table that they amount to.

    orders/headwater_until=20/…            the changes of a micro-batch, by its last sequence number
    orders/_headwater/snapshot-20/…        the rows after it
    orders/_headwater/snapshot-20.whole    says that they are all there
    orders/_headwater/truncated-17         nothing before this change counts
    orders/_headwater/log-…                whose numbers these are

Spark does not list names that begin with an underscore: who reads the folder reads the changes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.errors import ConfigError
from headwater.failpoint import failpoint
from headwater.spark.gateway.files import Files
from headwater.spark.table.claim import claim
from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE
from headwater.spark.table.standing import standing

BATCH = "headwater_until"
_BATCH = f"{BATCH}="
_SNAPSHOT = "snapshot-"
_WHOLE = ".whole"
_TRUNCATED = "truncated-"
_LOG = "log-"
_KEY = "key-"


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
        self._own = f"{path}/_headwater"
        self._files = Files(session, path)

    def claim(self, log_id: str, key: Sequence[str] = ()) -> None:
        """Let the folder be this log's, with this key, if there is one.

        Another log's numbers would be taken for these, and rows of another key for one another.
        """
        claim(self._files, self._own, _LOG, log_id)
        if not key or self._key_is(key):
            return
        raise ConfigError(
            "spark-key-changed",
            f"the key is ({', '.join(key)}) and was another, by which older changes are told apart",
            where=self._path,
            hint="apply the table to a new target, or with table_format: delta",
        )

    def _key_is(self, key: Sequence[str]) -> bool:
        """Whether the table has this key, as it has if it had none so far."""
        mine = f"{_KEY}{sha256(json.dumps([*key]).encode()).hexdigest()[:32]}"
        held = [name for name in self._files.names(self._own) if name.startswith(_KEY)]
        if not held:
            self._files.mark(f"{self._own}/{mine}")
        return held in ([], [mine])

    def batches(self, after: int = 0) -> list[int]:
        """The micro-batches that were written to the end, each as one file, in order."""
        return [each for each in self._begun(after) if self._written(each)]

    def _begun(self, after: int) -> list[int]:
        found = _numbers(self._files.names(self._path), _BATCH)
        return [each for each in found if each > after]

    def _written(self, batch: int) -> bool:
        names = self._files.names(f"{self._path}/{_BATCH}{batch}")
        return any(name.endswith(".parquet") for name in names)

    def snapshots(self) -> list[int]:
        """The snapshots that are whole, in order."""
        return _numbers(self._files.names(self._own), _SNAPSHOT, _WHOLE)

    def applied(self) -> int:
        """The last sequence number that is in the folder, 0 if there is nothing."""
        newest = max(self.snapshots(), default=0)
        later = reversed(self._begun(newest))
        return next((each for each in later if self._written(each)), newest)

    def append(self, changes: DataFrame, until: int, truncated_at: int | None) -> None:
        """Add the changes of a micro-batch, which count when their file is there.

        One file, by one task, however many rows: several do not appear at once. After a crash
        between two a mark could tell us, but not those who read the folder as it is, and a folder
        that is renamed into place is copied file by file where objects are stored.
        """
        if truncated_at is not None:
            self._files.mark(f"{self._own}/{_TRUNCATED}{truncated_at}")
        failpoint("spark.table.before_write")
        place = f"{self._path}/{_BATCH}{until}"
        changes.coalesce(1).write.mode("overwrite").parquet(place)

    def rows(self, key: Sequence[str]) -> DataFrame | None:
        """The table as it stands; None if there is nothing yet."""
        newest = max(self.snapshots(), default=0)
        batches = self.batches(newest)
        changes = self._changes(batches)
        if newest:
            stood = self._session.read.parquet(f"{self._own}/{_SNAPSHOT}{newest}")
            held = stood.withColumn(DELETED_FLAG, f.lit(False))  # noqa: FBT003
            changes = held if changes is None else held.unionByName(changes, True)  # noqa: FBT003
        if changes is None:
            return None
        # A mark that no written batch has reached is of one that was interrupted.
        applied = batches[-1] if batches else newest
        emptied = [each for each in self._truncates() if each <= applied]
        return standing(changes.where(f.col(SEQUENCE) > max(emptied, default=0)), key)

    def _truncates(self) -> list[int]:
        return _numbers(self._files.names(self._own), _TRUNCATED)

    def _changes(self, batches: Sequence[int]) -> DataFrame | None:
        if not batches:
            return None
        folders = [f"{self._path}/{_BATCH}{each}" for each in batches]
        read = self._session.read.option("mergeSchema", "true").parquet
        try:
            return read(*folders)
        except (PySparkException, Py4JJavaError) as exc:
            if "CANNOT_MERGE_SCHEMA" not in str(exc):
                raise
        # Parquet joins no types, not even narrow and wide integers; a union does.
        return reduce(lambda one, more: one.unionByName(more, True), map(read, folders))  # noqa: FBT003

    def compact(self, key: Sequence[str], policy: SnapshotPolicy) -> None:
        """Write a snapshot if it is due, and remove what two newer ones make superfluous.

        A process may end anywhere: a snapshot counts when it is marked, and a reader that began
        with the one before still finds all that it listed.
        """
        self._clear(changes=not policy.keep_changes)
        newest = max(self.snapshots(), default=0)
        if policy.every is None or not key or len(self._begun(newest)) < policy.every:
            return
        later = self.batches(newest)
        if not later:
            return
        failpoint("spark.parquet.before_snapshot")
        place = f"{self._own}/{_SNAPSHOT}{later[-1]}"
        self._write(place, key)
        failpoint("spark.parquet.before_mark")
        self._files.mark(f"{place}{_WHOLE}")
        failpoint("spark.parquet.after_mark")
        self._clear(changes=not policy.keep_changes)

    def _write(self, place: str, key: Sequence[str]) -> None:
        try:
            rows = self.rows(key)
        except PySparkException as exc:
            raise ConfigError(
                "spark-type-changed",
                "changes whose columns have unlike types amount to no table",
                where=self._path,
                hint="spark.snapshots.every: null",
            ) from exc
        if rows is not None:
            rows.write.mode("overwrite").parquet(place)

    def _clear(self, *, changes: bool) -> None:
        """Remove what only readers of a snapshot before the last two could want."""
        *older, until, _ = (0, 0, *self.snapshots())
        for old in older[2:]:
            self._files.remove(f"{self._own}/{_SNAPSHOT}{old}{_WHOLE}")
            self._files.remove(f"{self._own}/{_SNAPSHOT}{old}")
        for truncate in self._truncates():
            if truncate <= until:
                self._files.remove(f"{self._own}/{_TRUNCATED}{truncate}")
        if changes:
            for batch in _numbers(self._files.names(self._path), _BATCH):
                if batch <= until:
                    self._files.remove(f"{self._path}/{_BATCH}{batch}")


def _numbers(names: Sequence[str], prefix: str, suffix: str = "") -> list[int]:
    """The numbers in names of a form."""
    cut = (
        name.removeprefix(prefix).removesuffix(suffix)
        for name in names
        if name.startswith(prefix) and name.endswith(suffix)
    )
    return sorted(int(each) for each in cut if each.isdigit())


def current_rows(session: SparkSession, path: str, key: Sequence[str]) -> DataFrame:
    """The rows of the table whose changes are in a folder."""
    rows = Appended(session, path).rows(key)
    # Without a batch, Spark's own words about a folder that holds nothing.
    return session.read.parquet(path) if rows is None else rows
