"""Where the state of a lake is kept, and the past of its tables: in the lake's own table format."""

from __future__ import annotations

from typing import Literal, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headwater.spark.gateway.files import Files
from headwater.spark.state.columns import state_path
from headwater.spark.state.entry import Entry
from headwater.spark.state.in_delta import DeltaStore
from headwater.spark.state.in_iceberg import IcebergStore
from headwater.spark.table.iceberg import CATALOG_PREFIX

Kind = Literal["delta", "iceberg"]


class Store(Protocol):
    """The state's table and the versions that it tells of, through one session."""

    def version(self) -> int:
        """What the state's table is now, -1 if there is none; nobody wrote while it is the same."""
        ...

    def frame(self) -> DataFrame:
        """The rows of the state; one frame shows one version, however often it is read."""
        ...

    def append(self, rows: pa.Table, until: int) -> int:
        """Add rows in one commit, to a table that is made if need be; its version then."""
        ...

    def place(self, entry: Entry) -> str:
        """Where a table is, for people."""
        ...

    def rested(self, entry: Entry, log_id: str) -> Entry:
        """The entry with the newest version that has its rows: it outlives its own.

        After a compaction and the removal of old files a version is gone and its rows are not.
        """
        ...

    def rows(self, entry: Entry) -> DataFrame:
        """A table in the version of the entry."""
        ...

    def sql(self, entry: Entry) -> str:
        """The statement that reads this version."""
        ...

    def unreadable(self, entry: Entry, log_id: str) -> str | None:
        """Why the version can no longer be read, or None."""
        ...


def store_of(kind: Kind, session: SparkSession, location: str) -> Store:
    """The store of a lake whose tables are in a format."""
    if kind == "iceberg":
        return IcebergStore(session, location)
    return DeltaStore(session, location)


def store_at(session: SparkSession, location: str) -> Store | None:
    """The store of the lake that is at a location, by what is there; None if nothing is."""
    if location.startswith(CATALOG_PREFIX):
        return IcebergStore(session, location)
    kinds: dict[Kind, str] = {"delta": "_delta_log", "iceberg": "metadata"}
    files, place = Files(session, location), state_path(location)
    found = (kind for kind, folder in kinds.items() if files.exists(f"{place}/{folder}"))
    kind = next(found, None)
    return None if kind is None else store_of(kind, session, location)
