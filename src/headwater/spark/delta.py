"""One Delta table: made, widened and merged into by statements that we issue ourselves.

Delta records our position inside the commit that moved the rows: `txnVersion` is the last sequence
number of the batch, so the same batch again is a no-op and a half-done batch is finished, never
repeated. The table property says the same for people; it is written right after.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from headwater.errors import ConfigError
from headwater.event import TableSchema
from headwater.failpoint import failpoint
from headwater.spark.changes import DELETED, MISSING, PARTIAL, SEQ, TableChanges
from headwater.spark.columns import quoted, stored_type
from headwater.spark.layout import MIRROR, SEQUENCE, Layout

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
PROPERTY = "headwater.sequence"

# From the names of the table and of a view with the rows to the SQL that brings them together.
Statement = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class Standing:
    """A version of a table, None if there is no table, and the last change that is in it."""

    version: int | None
    applied: int


class DeltaTarget:
    """A table at a path, written through one session."""

    def __init__(self, session: SparkSession, path: str, app_id: str) -> None:
        self._session = session
        self._path = path
        self._app_id = app_id
        self._name = f"delta.{quoted(path)}"

    def prepare(self, schema: TableSchema, layout: Layout = MIRROR) -> bool:
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
            self._session.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({_ddl(added)})")
        return False

    def _exists(self) -> bool:
        jvm: Any = self._session._jvm  # noqa: SLF001 - PySpark has no public door to DeltaTable
        return bool(
            jvm.io.delta.tables.DeltaTable.isDeltaTable(self._session._jsparkSession, self._path)  # noqa: SLF001
        )

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        key = ",".join(schema.primary_key)
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({_ddl(wanted)})"
            " USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true',"
            f" 'headwater.table' = {_literal(str(schema.table))},"
            f" 'headwater.key' = {_literal(key)}, '{PROPERTY}' = '0')"
        )

    def applied(self) -> int:
        """The last sequence number that a commit of ours says is in the table; 0 if none."""
        return self.standing().applied

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
        return Standing(int(snapshot.version()), int(found.get()) if found.isDefined() else 0)

    def rows(self, standing: Standing) -> DataFrame | None:
        """The rows as they stood, whatever another driver has written since."""
        if standing.version is None:
            return None
        reader = self._session.read.format("delta").option("versionAsOf", standing.version)
        return reader.load(self._path)

    def fill(self, rows: DataFrame, changes: TableChanges, until: int) -> None:
        """Bring a new table to `until` without a MERGE: there is nothing to merge with.

        It replaces rather than appends: another driver that filled the table since we looked held
        the same changes, and appending them again would double every key.
        """
        kept = rows.where(f"NOT {DELETED} AND NOT {PARTIAL}")
        named = kept.select(*map(quoted, changes.columns), col(SEQ).alias(SEQUENCE))
        self._carry_position(until)
        failpoint("spark.table.before_fill")
        named.write.format("delta").mode("overwrite").save(self._path)
        failpoint("spark.table.after_fill")

    def merge(self, rows: DataFrame, changes: TableChanges, until: int) -> None:
        """Merge the latest change of each key."""
        self.write(rows, until, lambda target, view: merge_sql(target, view, changes))

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


def merge_sql(target: str, view: str, changes: TableChanges) -> str:
    """The MERGE of one table. The sequence guard makes an older change lose against a newer row."""
    key = " AND ".join(f"t.{quoted(k)} <=> s.{quoted(k)}" for k in changes.schema.primary_key)
    newer = f"s.{SEQ} > t.{SEQUENCE}"
    updates = ", ".join(_update(name, may_lack=changes.merges) for name in changes.columns)
    names = ", ".join(map(quoted, changes.columns))
    values = ", ".join(f"s.{quoted(name)}" for name in changes.columns)
    insert = f"INSERT ({names}, {SEQUENCE}) VALUES ({values}, s.{SEQ})"
    clauses = [
        f"MERGE INTO {target} t USING {view} s ON {key}",
        f"WHEN MATCHED AND {newer} AND s.{DELETED} THEN DELETE",
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {updates}, t.{SEQUENCE} = s.{SEQ}",
        # A row of which the source sent only a part cannot be made from nothing (INV-10).
        f"WHEN NOT MATCHED AND NOT s.{DELETED} AND NOT s.{PARTIAL} THEN {insert}",
    ]
    if changes.truncated_at is not None:
        clauses.append(
            f"WHEN NOT MATCHED BY SOURCE AND t.{SEQUENCE} < {changes.truncated_at} THEN DELETE"
        )
    return " ".join(clauses)


def _update(name: str, *, may_lack: bool) -> str:
    column = quoted(name)
    if not may_lack:
        return f"t.{column} = s.{column}"
    lacks = f"array_contains(s.{MISSING}, {_literal(name)})"
    return f"t.{column} = CASE WHEN {lacks} THEN t.{column} ELSE s.{column} END"


def _ddl(columns: dict[str, str]) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
