"""One Delta table: made, widened and merged into by statements that we issue ourselves.

Delta records our position inside the commit that moved the rows: `txnVersion` is the last sequence
number of the batch, so the same batch again is a no-op and a half-done batch is finished, never
repeated. The table property says the same for people; it is written right after.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError
from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.columns import stored_type
from headwater.spark.modes import Mode
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.table.layout import Layout
from headwater.spark.table.path import table_path
from headwater.spark.table.target import Standing, Statement

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
PROPERTY = "headwater.sequence"


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
        """Make the table, or add the columns that it lacks; never by merging schemas.

        True if the table is new and therefore empty.
        """
        wanted = {column.name: stored_type(column.type) for column in schema.columns}
        if not self._exists():
            failpoint("spark.table.before_create")
            self._create({**wanted, **layout}, schema)
            failpoint("spark.table.after_create")
            return True
        present = {
            field.name: field.dataType.simpleString()
            for field in self._session.table(self._name).schema.fields
        }
        for name, kind in wanted.items():
            if name in present and present[name] != kind:
                raise ConfigError(
                    "spark-type-changed",
                    f"column {name} is {present[name]} in the table and {kind} at the source",
                    where=self._path,
                    hint=f"ALTER TABLE {self._name} ALTER COLUMN {quoted(name)} TYPE {kind}",
                )
        added = {name: kind for name, kind in wanted.items() if name not in present}
        if added:
            failpoint("spark.table.before_alter")
            self._session.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({column_list(added)})")
        return False

    def _exists(self) -> bool:
        jvm: Any = self._session._jvm  # noqa: SLF001 - PySpark has no public door to DeltaTable
        return bool(
            jvm.io.delta.tables.DeltaTable.isDeltaTable(self._session._jsparkSession, self._path)  # noqa: SLF001
        )

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        key = ",".join(schema.primary_key)
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({column_list(wanted)})"
            " USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true',"
            f" 'headwater.table' = {literal(str(schema.table))},"
            f" 'headwater.key' = {literal(key)}, '{PROPERTY}' = '0')"
        )

    def standing(self) -> Standing:
        """What the table is now; the position and the rows of one version belong together."""
        if not self._exists():
            return Standing(None, 0)
        jvm: Any = self._session._jvm  # noqa: SLF001
        none = jvm.scala.Option.empty()
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
            self._session._jsparkSession,  # noqa: SLF001
            self._path,
        )
        snapshot = log.update(False, none, none)  # noqa: FBT003
        found = snapshot.transactions().get(self._app_id)
        files = snapshot.numOfFilesIfKnown()
        return Standing(
            version=int(snapshot.version()),
            applied=int(found.get()) if found.isDefined() else 0,
            files=int(files.get()) if files.isDefined() else 0,
        )

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
        self._carry_position(until)
        failpoint("spark.table.before_fill")
        rows.write.format("delta").mode("overwrite").save(self._path)
        failpoint("spark.table.after_fill")

    def write(self, rows: DataFrame, until: int, statement: Statement) -> None:
        """Bring the table to `until` in one commit that carries its position."""
        view = f"headwater_{uuid4().hex}"
        rows.createOrReplaceTempView(view)
        self._carry_position(until)
        try:
            failpoint("spark.table.before_merge")
            self._session.sql(statement(self._name, view))
            failpoint("spark.table.after_merge")
        finally:
            self._session.catalog.dropTempView(view)

    def _carry_position(self, until: int) -> None:
        """The next commit of this session records `until`; Delta skips one that it has seen."""
        conf = self._session.conf
        conf.set(_APP_ID, self._app_id)
        conf.set(_VERSION, str(until))
        conf.set(_METADATA, json.dumps({"headwater": {"sequence": until}}))

    def note_position(self, until: int) -> None:
        """Show the position where people look for it: SHOW TBLPROPERTIES."""
        self._session.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ('{PROPERTY}' = '{until}')")
        failpoint("spark.table.after_property")
