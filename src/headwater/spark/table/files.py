"""Files wherever Spark reads and writes them: local disks, HDFS, object stores."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


class Files:
    """The file system of one place, through the gateway: PySpark has no door to it."""

    def __init__(self, session: SparkSession, place: str) -> None:
        jvm: Any = session._jvm  # noqa: SLF001
        spark: Any = session._jsparkSession  # noqa: SLF001
        self._path = jvm.org.apache.hadoop.fs.Path
        self._system = self._path(place).getFileSystem(spark.sessionState().newHadoopConf())

    def names(self, folder: str) -> list[str]:
        """What is in a folder; nothing if there is none."""
        path = self._path(folder)
        if not self._system.exists(path):
            return []
        return [each.getPath().getName() for each in self._system.listStatus(path)]

    def mark(self, file: str) -> None:
        """Make an empty file: it is there or it is not, never half."""
        self._system.create(self._path(file), True).close()  # noqa: FBT003

    def remove(self, place: str) -> None:
        """Remove a file, or a folder and all that is in it."""
        self._system.delete(self._path(place), True)  # noqa: FBT003
