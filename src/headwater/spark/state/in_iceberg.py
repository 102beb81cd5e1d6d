"""The state as an Iceberg table, of Iceberg tables."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headwater.spark.state.columns import COLUMNS
from headwater.spark.state.entry import Entry
from headwater.spark.state.tidy import tidied
from headwater.spark.table.iceberg.catalog import FORGETFUL, Address, catalog_of, create
from headwater.spark.table.iceberg.history import History
from headwater.spark.table.iceberg.metadata import history_of, load
from headwater.spark.table.iceberg.upkeep import IcebergUpkeep


class IcebergStore:
    """Implements Store. The versions that it tells of are snapshots, by their ids."""

    def __init__(self, session: SparkSession, location: str) -> None:
        self._session = session
        self._catalog = catalog_of(location)
        self._own = self._catalog.own(session, "state")

    def version(self) -> int:
        """The id of the current snapshot; 0 before there is one."""
        if not self._session.catalog.tableExists(self._own.name):
            return -1
        return self._history(self._own).current or 0

    def frame(self) -> DataFrame:
        """The rows."""
        current = self._history(self._own).current
        reader = self._session.read
        if current is not None:
            reader = reader.option("versionAsOf", current)
        return reader.table(self._own.name)

    def append(self, rows: pa.Table, until: int) -> int:
        """Add rows; as in Delta, small files are written together at times."""
        del until  # each row says it
        self._create()
        self._session.createDataFrame(rows).writeTo(self._own.name).append()
        tidied(IcebergUpkeep(self._session, self._own))
        return self.version()

    def _create(self) -> None:
        if self.version() >= 0:
            return
        create(self._session, self._own, COLUMNS, FORGETFUL)

    def _address(self, entry: Entry) -> Address:
        return self._catalog.address(self._session, entry.table, entry.mode)

    def _history(self, address: Address) -> History:
        return history_of(self._session, load(self._session, address.name))

    def place(self, entry: Entry) -> str:
        """The path, or the name in the catalog."""
        return self._address(entry).place

    def rested(self, entry: Entry, log_id: str) -> Entry:
        """By the snapshots since."""
        address = self._address(entry)
        if not self._session.catalog.tableExists(address.name):
            return entry
        found = self._history(address).rested(entry.version, log_id, entry.applied)
        return replace(entry, version=found)

    def rows(self, entry: Entry) -> DataFrame:
        """The snapshot by its id, with the columns of its time."""
        reader = self._session.read.option("versionAsOf", entry.version)
        return reader.table(self._address(entry).name)

    def sql(self, entry: Entry) -> str:
        """By the name that the table has in a session of theirs."""
        return f"SELECT * FROM {self._address(entry).public} VERSION AS OF {entry.version}"

    def unreadable(self, entry: Entry, log_id: str) -> str | None:
        """A snapshot that has expired is gone with its files; its id is that of no other."""
        del log_id
        address = self._address(entry)
        if not self._session.catalog.tableExists(address.name):
            return "there is no such table"
        known = entry.version in self._history(address).snapshots
        return None if known else "the snapshot has expired"
