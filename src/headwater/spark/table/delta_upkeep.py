"""A Delta table's files: OPTIMIZE and VACUUM, and the figures that say when."""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession

from headwater.failpoint import failpoint
from headwater.spark.gateway.classes import singleton
from headwater.spark.gateway.scala import activate
from headwater.spark.sql import quoted
from headwater.spark.table.delta_commit import commit, position
from headwater.spark.table.delta_cost import cost_of
from headwater.spark.table.deltalog import carried, log_at, newest, noted, retention_ms
from headwater.spark.table.upkeep import Files, WriteCost

_LARGEST = "spark.databricks.delta.optimize.maxFileSize"
_SMALL = "spark.databricks.delta.optimize.minFileSize"
# Delta ignores what VACUUM is told to retain: these properties decide.
_FILES_KEPT = "delta.deletedFileRetentionDuration"
_LOG_KEPT = "delta.logRetentionDuration"
# VACUUM also removes files that nobody has committed yet: a writer has this long to do so.
_LEAST_S = 3600
# As a position is kept, but of time: a process that lives for a batch would look at every start.
_EXPIRED = "headwater.expired"


class DeltaUpkeep:
    """Implements Upkeep for a table at a path."""

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session = session
        self._path = path
        self._name = f"delta.{quoted(path)}"

    def files(self) -> Files:
        """What the newest version consists of; Delta counts as it commits, so nothing is read."""
        snapshot = log_at(self._session, self._path).unsafeVolatileSnapshot()
        if snapshot.version() < 0:  # it is being loaded
            return Files(0, 0)
        note = noted(snapshot)
        if note is not None:
            return Files(int(note.numFiles()), int(note.tableSizeBytes()))
        return Files(int(snapshot.numOfFiles()), int(snapshot.sizeInBytes()))

    def last_cost(self) -> WriteCost | None:
        """The price of the newest commit, from the commit itself: history would be a Spark job."""
        log = log_at(self._session, self._path)
        version = log.unsafeVolatileSnapshot().version()
        if version < 0:
            return None
        names = singleton(self._session, "org.apache.spark.sql.delta.util.FileNames")
        file = names.unsafeDeltaFile(log.logPath(), version)
        lines = log.store().read(file, log.newDeltaHadoopConf())
        return cost_of(str(lines.mkString("\n")).split("\n"))

    def compact(self, target_bytes: int, spare: int = 0) -> None:
        """Write files below half the target size together, without the rows that are gone.

        A task writes one file, so of a table that would be one, every core writes a part.
        """
        cores = self._session.sparkContext.defaultParallelism
        largest = largest_file(self.files(), target_bytes, cores, spare)
        self._session.conf.set(_LARGEST, str(largest))
        self._session.conf.set(_SMALL, str(target_bytes // 2))
        failpoint("spark.keep.before_compact")
        self._session.sql(f"OPTIMIZE {self._name}")
        failpoint("spark.keep.after_compact")

    def expired_at(self) -> float:
        """By the newest version: nothing is read for it."""
        snapshot = log_at(self._session, self._path).unsafeVolatileSnapshot()
        if snapshot.version() < 0:
            return time.time()
        made = snapshot.metadata().createdTime()
        return carried(snapshot, _EXPIRED) or (int(made.get()) / 1000 if made.isDefined() else 0)

    def expire(self, older_than_s: int) -> None:
        """Remove files that only older versions need; those of the last hour always stay."""
        snapshot = newest(self._session, self._path)
        if snapshot is None:  # it is being loaded
            return
        failpoint("spark.keep.before_expire")
        self._retain(snapshot, max(older_than_s, _LEAST_S))
        self._session.sql(f"VACUUM {self._name}")
        activate(self._session)
        told = position(self._session, _EXPIRED, int(time.time()))
        commit(self._session, self._path, [told])

    def _retain(self, snapshot: Any, seconds: int) -> None:
        """Have the table say how long removed files stay; its log is never shorter than that."""
        files_ms, log_ms = retention_ms(self._session, snapshot)
        wanted = [
            *([_FILES_KEPT] if files_ms != seconds * 1000 else ()),
            *([_LOG_KEPT] if log_ms < seconds * 1000 else ()),
        ]
        if wanted:
            said = ", ".join(f"'{name}' = 'interval {seconds} seconds'" for name in wanted)
            self._session.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({said})")


def largest_file(files: Files, target_bytes: int, cores: int, spare: int) -> int:
    """How large a compaction's files may become, so that every core has one to write.

    Files below half the target count as small, and a file may lack a small one of what it could
    hold. So only a table that is no larger than one file is written in parts as small as that.
    """
    parts = min(cores, 2 * files.ideal(target_bytes) + spare)
    least = 1 if files.bytes <= target_bytes else target_bytes * 3 // 4
    return min(target_bytes, max(files.bytes // parts + 1, least))
