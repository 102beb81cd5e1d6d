"""A Delta table's files: OPTIMIZE and VACUUM, and the figures that say when."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from headwater.failpoint import failpoint
from headwater.spark.gateway.scala import jvm_of, singleton
from headwater.spark.sql import quoted
from headwater.spark.table.deltalog import log_at, noted
from headwater.spark.table.upkeep import Files, WriteCost

_LARGEST = "spark.databricks.delta.optimize.maxFileSize"
_SMALL = "spark.databricks.delta.optimize.minFileSize"
_CHANGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_HOUR_S = 3600


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
        names = singleton(jvm_of(self._session).org.apache.spark.sql.delta.util, "FileNames")
        file = names.unsafeDeltaFile(log.logPath(), version)
        lines = log.store().read(file, log.newDeltaHadoopConf())
        for number in range(lines.size()):
            action = json.loads(lines.apply(number))
            if "commitInfo" in action:
                return _cost(action["commitInfo"].get("operationMetrics", {}))
        return None

    def compact(self, target_bytes: int, spare: int = 0) -> None:
        """Write files below half the target size together, without the rows that are gone.

        A task writes one file, so of a table that would be one, every core writes a part.
        """
        files = self.files()
        parts = min(
            self._session.sparkContext.defaultParallelism, 2 * files.ideal(target_bytes) + spare
        )
        self._session.conf.set(_LARGEST, str(min(target_bytes, files.bytes // parts + 1)))
        self._session.conf.set(_SMALL, str(target_bytes // 2))
        failpoint("spark.keep.before_compact")
        self._session.sql(f"OPTIMIZE {self._name}")
        failpoint("spark.keep.after_compact")

    def expire(self, older_than_s: int) -> None:
        """Remove files that only older versions need; Delta refuses less than its own age."""
        failpoint("spark.keep.before_expire")
        self._session.sql(f"VACUUM {self._name} RETAIN {older_than_s / _HOUR_S:g} HOURS")


def _cost(metrics: dict[str, str]) -> WriteCost | None:
    if "numTargetRowsCopied" not in metrics:
        # Rows that were marked or added: none had to be written again.
        written = metrics.get("numOutputRows")
        return None if written is None else WriteCost(int(written), 0)
    changed = sum(int(metrics.get(name, "0")) for name in _CHANGED)
    return WriteCost(changed, int(metrics["numTargetRowsCopied"]))
