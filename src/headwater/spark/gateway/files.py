"""Files wherever Spark reads and writes them: local disks, HDFS, object stores."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.gateway.classes import java_class


class Files:
    """The file system of one place."""

    def __init__(self, session: SparkSession, place: str) -> None:
        spark: Any = session._jsparkSession  # noqa: SLF001 - PySpark has no public door to it
        self._path = java_class(session, "org.apache.hadoop.fs.Path")
        self._system = self._path(place).getFileSystem(spark.sessionState().newHadoopConf())
        self._all_of = java_class(session, "org.apache.commons.io.IOUtils").toByteArray

    def on_disk(self, place: str) -> str | None:
        """The place as any process of the machine knows it; None if it is not on its disks."""
        if self._system.getUri().getScheme() != "file":
            return None
        return str(self._path(place).toUri().getPath())

    def exists(self, place: str) -> bool:
        """Whether a file or folder is there."""
        return bool(self._system.exists(self._path(place)))

    def names(self, folder: str) -> list[str]:
        """What is in a folder; nothing if there is none."""
        if not self.exists(folder):
            return []
        return [
            str(each.getPath().getName()) for each in self._system.listStatus(self._path(folder))
        ]

    def matching(self, pattern: str) -> list[str]:
        """The places that a glob of Hadoop's finds, as full names."""
        found = self._system.globStatus(self._path(pattern)) or ()
        return [str(each.getPath().toString()) for each in found]

    def folders(self, above: str, holding: str) -> list[str]:
        """The names of the folders of a place that have something in them."""
        place = re.sub(r"([\\*?{}\[\],])", r"\\\1", above.rstrip("/"))
        up = len(f"/{holding}")
        return [each[:-up].rpartition("/")[2] for each in self.matching(f"{place}/*/{holding}")]

    def read(self, file: str) -> bytes:
        """All that a file holds."""
        stream = self._system.open(self._path(file))
        try:
            return bytes(self._all_of(stream))
        finally:
            stream.close()

    def write(self, file: str, content: bytes) -> None:
        """Make a file that is not there yet."""
        stream = self._system.create(self._path(file), False)  # noqa: FBT003 - py4j has no names
        try:
            stream.write(bytearray(content))
        finally:
            stream.close()

    def mark(self, file: str) -> None:
        """Make an empty file: it is there or it is not, never half."""
        self._system.create(self._path(file), True).close()  # noqa: FBT003

    def rename(self, place: str, to: str) -> None:
        """Give a file or folder another name."""
        if not self._system.rename(self._path(place), self._path(to)):
            raise OSError(f"{place} could not be renamed to {to}")

    def remove(self, place: str) -> None:
        """Remove a file, or a folder and all that is in it."""
        self._system.delete(self._path(place), True)  # noqa: FBT003
