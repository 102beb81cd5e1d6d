"""The state as a Delta table, of Delta tables."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headwater.spark.sql import column_list, quoted
from headwater.spark.state.columns import COLUMNS, MANY_FILES, state_path
from headwater.spark.state.entry import Entry
from headwater.spark.state.readable import unreadable
from headwater.spark.state.rested import rested
from headwater.spark.state.tidy import tidied
from headwater.spark.table.delta_append import append
from headwater.spark.table.delta_upkeep import DeltaUpkeep
from headwater.spark.table.deltalog import app_of, beyond_retention, newest


class DeltaStore:
    """Implements Store. A batch is one plain append, for which no Spark job runs."""

    def __init__(self, session: SparkSession, location: str) -> None:
        self._session = session
        self._location = location.rstrip("/")
        self._path = state_path(location)

    def version(self) -> int:
        """The table's version."""
        found = newest(self._session, self._path)
        return -1 if found is None else int(found.version())

    def frame(self) -> DataFrame:
        """The rows."""
        return self._session.read.format("delta").load(self._path)

    def append(self, rows: pa.Table, until: int) -> int:
        """Add rows; each batch adds a small file, so that they are written together at times."""
        self._create()
        version = append(self._session, self._path, rows, until)
        compacted = tidied(DeltaUpkeep(self._session, self._path))
        return self.version() if compacted else version

    def _create(self) -> None:
        if self.version() < 0:
            self._session.sql(
                f"CREATE TABLE IF NOT EXISTS delta.{quoted(self._path)} ({column_list(COLUMNS)})"
                f" USING delta TBLPROPERTIES ('delta.checkpointInterval' = '{MANY_FILES // 2}')"
            )

    def place(self, entry: Entry) -> str:
        """The path; older states have it whole."""
        return entry.path if "/" in entry.path else f"{self._location}/{entry.path}"

    def rested(self, entry: Entry, log_id: str) -> Entry:
        """By the commits since."""
        found = rested(self._session, self.place(entry), entry, app_of(log_id))
        return replace(entry, version=found)

    def rows(self, entry: Entry) -> DataFrame:
        """The version by its number."""
        reader = self._session.read.format("delta").option("versionAsOf", entry.version)
        with beyond_retention(self._session):
            return reader.load(self.place(entry))

    def sql(self, entry: Entry) -> str:
        """By the path, which needs no catalog."""
        return f"SELECT * FROM delta.{quoted(self.place(entry))} VERSION AS OF {entry.version}"

    def unreadable(self, entry: Entry, log_id: str) -> str | None:
        """VACUUM removes files, and one that was made anew has other rows by the same number."""
        return unreadable(self._session, self.place(entry), entry, app_of(log_id))
