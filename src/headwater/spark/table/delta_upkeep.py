"""A Delta table's files: OPTIMIZE and VACUUM, and the figures that say when."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession

from headwater.failpoint import failpoint
from headwater.spark.sql import quoted
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

    def _log(self) -> Any:
        jvm: Any = self._session._jvm  # noqa: SLF001 - PySpark has no public door to DeltaLog
        session = self._session._jsparkSession  # noqa: SLF001
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session, self._path)

    def files(self) -> Files:
        """What the newest version consists of; Delta counts as it commits, so nothing is read."""
        snapshot = self._log().unsafeVolatileSnapshot()
        if snapshot.version() < 0:  # it is being loaded
            return Files(0, 0)
        return Files(int(snapshot.numOfFiles()), int(snapshot.sizeInBytes()))

    def last_cost(self) -> WriteCost | None:
        """The price of the newest commit, from the commit itself: history would be a Spark job."""
        log = self._log()
        version = log.unsafeVolatileSnapshot().version()
        if version < 0:
            return None
        jvm: Any = self._session._jvm  # noqa: SLF001
        names = getattr(jvm.org.apache.spark.sql.delta.util, "FileNames$")
        file = getattr(names, "MODULE$").unsafeDeltaFile(log.logPath(), version)
        lines = log.store().read(file, log.newDeltaHadoopConf())
        for number in range(lines.size()):
            action = json.loads(lines.apply(number))
            if "commitInfo" in action:
                return _cost(action["commitInfo"].get("operationMetrics", {}))
        return None

    def compact(self, target_bytes: int) -> None:
        """Write files below half the target size together, without the rows that are gone."""
        self._session.conf.set(_LARGEST, str(target_bytes))
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
        return None
    changed = sum(int(metrics.get(name, "0")) for name in _CHANGED)
    return WriteCost(changed, int(metrics["numTargetRowsCopied"]))
