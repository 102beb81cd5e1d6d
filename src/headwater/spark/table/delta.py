"""One Delta table: made, altered and merged into by statements that we issue ourselves.

Delta records our position inside the commit that moved the rows: `txnVersion` is the last sequence
number of the batch, so the same batch again is a no-op and a half-done batch is finished, never
repeated. The commit's metadata says the same for people who read the table's history.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.kinds import stored_type
from headwater.spark.modes import Mode
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.table.alteration import Alteration
from headwater.spark.table.delta_columns import shape_of, statements, table_properties
from headwater.spark.table.delta_upkeep import DeltaUpkeep
from headwater.spark.table.layout import Layout
from headwater.spark.table.path import table_path
from headwater.spark.table.shape import COLUMNS, TableShape, memory_of
from headwater.spark.table.target import Standing, Statement

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


@dataclass(frozen=True, slots=True)
class DeltaTargets:
    """Implements Targets: a folder per table and mode below `location`."""

    location: str
    log_id: str

    def open(self, session: SparkSession, table: TableId, mode: Mode) -> DeltaTarget:
        """The table that keeps a source table in a mode."""
        # The log's name, not the checkpoint's: checkpoints may be lost.
        return DeltaTarget(
            session, table_path(self.location, table, mode), f"headwater:{self.log_id}"
        )

    def upkeep(self, session: SparkSession, table: TableId, mode: Mode) -> DeltaUpkeep:
        """The same table from the side of its files."""
        return DeltaUpkeep(session, table_path(self.location, table, mode))


class DeltaTarget:
    """Implements Target for a table at a path."""

    def __init__(self, session: SparkSession, path: str, app_id: str) -> None:
        self._session = session
        self._path = path
        self._app_id = app_id
        self._name = f"delta.{quoted(path)}"

    @property
    def place(self) -> str:
        """The path."""
        return self._path

    def prepare(self, schema: TableSchema, layout: Layout) -> bool:
        """Make the table if there is none; True if it is new and therefore empty."""
        if self._exists():
            return False
        wanted = {column.name: stored_type(column.type) for column in schema.columns}
        failpoint("spark.table.before_create")
        self._create({**wanted, **layout}, schema)
        failpoint("spark.table.after_create")
        return True

    def shape(self) -> TableShape | None:
        """The columns that came from the source; None if there is no table."""
        return shape_of(self._snapshot()) if self._exists() else None

    def statements(self, alterations: Sequence[Alteration]) -> tuple[str, ...]:
        """The statements, with what the table must be able to do before them."""
        return statements(self._name, alterations)

    def alter(self, alterations: Sequence[Alteration]) -> None:
        """Change the columns; what an earlier process has done of it is not among them."""
        for statement in self.statements(alterations):
            failpoint("spark.table.before_alter")
            self._session.sql(statement)
            failpoint("spark.table.after_alter")

    def remember(self, memory: str, key: Sequence[str]) -> None:
        """Keep which column is which."""
        named = f"'{COLUMNS}' = {literal(memory)}, 'headwater.key' = {literal(','.join(key))}"
        self._session.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({named})")

    def _exists(self) -> bool:
        jvm: Any = self._session._jvm  # noqa: SLF001 - PySpark has no public door to DeltaTable
        return bool(
            jvm.io.delta.tables.DeltaTable.isDeltaTable(self._session._jsparkSession, self._path)  # noqa: SLF001
        )

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        key = ",".join(schema.primary_key)
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({column_list(wanted)})"
            f" USING delta TBLPROPERTIES ({table_properties(wanted)},"
            f" '{COLUMNS}' = {literal(memory_of(schema))},"
            f" 'headwater.table' = {literal(str(schema.table))},"
            f" 'headwater.key' = {literal(key)})"
        )

    def standing(self) -> Standing:
        """What the table is now; the position and the rows of one version belong together."""
        if not self._exists():
            return Standing(None, 0)
        snapshot = self._snapshot()
        found = snapshot.transactions().get(self._app_id)
        return Standing(int(snapshot.version()), int(found.get()) if found.isDefined() else 0)

    def _snapshot(self) -> Any:
        jvm: Any = self._session._jvm  # noqa: SLF001
        none = jvm.scala.Option.empty()
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
            self._session._jsparkSession,  # noqa: SLF001
            self._path,
        )
        return log.update(False, none, none)  # noqa: FBT003

    def rows(self, standing: Standing) -> DataFrame | None:
        """The rows as they stood, whatever another driver has written since."""
        if standing.version is None:
            return None
        reader = self._session.read.format("delta").option("versionAsOf", standing.version)
        return reader.load(self._path)

    def fill(self, rows: DataFrame, until: int) -> None:
        """Bring a new table to `until` without a MERGE: there is nothing to merge with.

        It replaces rather than appends: another driver that filled the table since we looked held
        the same changes, and appending them again would double every key.
        """
        with self._carrying(until):
            failpoint("spark.table.before_fill")
            rows.write.format("delta").mode("overwrite").save(self._path)
            failpoint("spark.table.after_fill")

    def write(self, rows: DataFrame, until: int, statement: Statement) -> None:
        """Bring the table to `until` in one commit that carries its position."""
        view = f"headwater_{uuid4().hex}"
        rows.createOrReplaceTempView(view)
        try:
            with self._carrying(until):
                failpoint("spark.table.before_merge")
                self._session.sql(statement(self._name, view))
                failpoint("spark.table.after_merge")
        finally:
            self._session.catalog.dropTempView(view)

    @contextmanager
    def _carrying(self, until: int) -> Iterator[None]:
        """A commit of this session records `until`; Delta skips one that it has seen."""
        told = {
            _APP_ID: self._app_id,
            _VERSION: str(until),
            _METADATA: json.dumps({"headwater": {"sequence": until}}),
        }
        for name, value in told.items():
            self._session.conf.set(name, value)
        try:
            yield
        finally:
            for name in told:
                self._session.conf.unset(name)
