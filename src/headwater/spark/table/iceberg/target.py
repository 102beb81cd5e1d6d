"""One Iceberg table: made, widened and merged into by statements that we issue ourselves.

The position stands in the summary of the snapshot that moved the rows, and that snapshot becomes
the table only if nobody else has written since we looked: the same batch again is a no-op, and a
driver that was overtaken changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError, TransientError
from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.columns import stored_type
from headwater.spark.modes import Mode
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.table.iceberg.catalog import Address, catalog_of
from headwater.spark.table.iceberg.history import LOG, SEQUENCE, History
from headwater.spark.table.iceberg.publish import publish
from headwater.spark.table.layout import Layout
from headwater.spark.table.target import Standing, Statement

_SUMMARY = "spark.sql.iceberg.snapshot-property."
_ATTEMPTS = 5
_PROPERTIES = {
    # What every engine reads. A table that is raised to 3 gets deletion vectors, and we go on.
    "format-version": "2",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # Three of them a batch; snapshots are kept all the same.
    "write.metadata.delete-after-commit.enabled": "true",
}


@dataclass(frozen=True, slots=True)
class IcebergTargets:
    """Implements Targets: below a folder, or in `catalog:NAME.NAMESPACE`."""

    location: str
    log_id: str

    def open(self, session: SparkSession, table: TableId, mode: Mode) -> IcebergTarget:
        """The table that keeps a source table in a mode."""
        address = catalog_of(self.location).address(session, table, mode)
        return IcebergTarget(session, address, self.log_id, mode)


class IcebergTarget:
    """Implements Target for a table in a catalog. It remembers the position that it last told."""

    def __init__(self, session: SparkSession, address: Address, log_id: str, mode: Mode) -> None:
        self._session = session
        self._address = address
        self._name = address.name
        self._log_id = log_id
        self._mode = mode
        self._seen: int | None = None

    @property
    def place(self) -> str:
        """The path, or the name in the catalog."""
        return self._address.place

    def standing(self) -> Standing:
        """What the table is now; the position and the rows of one snapshot belong together."""
        if not self._exists():
            self._seen = 0
            return Standing(None, 0)
        history = self._history()
        self._seen = history.applied(self._log_id)
        return Standing(history.current, self._seen, history.files)

    def rows(self, standing: Standing) -> DataFrame | None:
        """The rows as they stood, whatever another driver has written since."""
        if standing.version is None:
            return None
        return self._session.read.option("versionAsOf", standing.version).table(self._name)

    def prepare(self, schema: TableSchema, layout: Layout) -> bool:
        """Make the table, or add the columns that it lacks; never by merging schemas.

        True if the table is new and therefore empty.
        """
        wanted = {column.name: _kind(stored_type(column.type)) for column in schema.columns}
        if not self._exists():
            failpoint("spark.table.before_create")
            self._create({**wanted, **layout}, schema)
            failpoint("spark.table.after_create")
            return True
        self._require_ours(schema.table)
        present = {
            field.name: field.dataType.simpleString()
            for field in self._session.table(self._name).schema.fields
        }
        for name, kind in wanted.items():
            if name in present and present[name] != kind:
                public = self._address.public
                raise ConfigError(
                    "spark-type-changed",
                    f"column {name} is {present[name]} in the table and {kind} at the source",
                    where=self.place,
                    hint=f"ALTER TABLE {public} ALTER COLUMN {quoted(name)} TYPE {kind}",
                )
        added = {name: kind for name, kind in wanted.items() if name not in present}
        if added:
            failpoint("spark.table.before_alter")
            self._session.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({column_list(added)})")
        return False

    def fill(self, rows: DataFrame, until: int) -> None:
        """Bring a new table to `until` without a MERGE: there is nothing to merge with."""

        def append(branch: str) -> None:
            failpoint("spark.table.before_fill")
            rows.writeTo(f"{self._name}.branch_{branch}").append()
            failpoint("spark.table.after_fill")

        self._commit(until, append)

    def write(self, rows: DataFrame, until: int, statement: Statement) -> None:
        """Bring the table to `until` in one snapshot that carries its position."""
        view = f"headwater_{uuid4().hex}"
        rows.createOrReplaceTempView(view)

        def merge(branch: str) -> None:
            failpoint("spark.table.before_merge")
            self._session.sql(statement(f"{self._name}.branch_{branch}", view))
            failpoint("spark.table.after_merge")

        try:
            self._commit(until, merge)
        finally:
            self._session.catalog.dropTempView(view)

    def note_position(self, until: int) -> None:
        """The commit has noted it in the properties, where people look for it."""

    def _commit(self, until: int, work: Callable[[str], None]) -> None:
        """Once more if others, who move no position, were quicker; not if a driver of ours was."""
        table = self._table()
        for attempt in range(1, _ATTEMPTS + 1):
            history = self._based(table)
            applied = history.applied(self._log_id)
            if applied >= until:
                return
            if self._seen not in (None, applied):
                raise self._overtaken()
            self._session.conf.set(f"{_SUMMARY}{LOG}", self._log_id)
            self._session.conf.set(f"{_SUMMARY}{SEQUENCE}", str(until))
            try:
                publish(table, history, (self._log_id, until), work)
            except Exception:
                if attempt == _ATTEMPTS or self._history().current == history.current:
                    raise
            else:
                return

    def _overtaken(self) -> TransientError:
        return TransientError(
            "spark-overtaken",
            "another driver has written to the table while this one worked out its rows",
            where=self.place,
        )

    def _require_ours(self, table: TableId) -> None:
        """Names in a catalog are narrower than a database's: two tables may want the same."""
        ours = {"headwater.table": str(table), "headwater.mode": self._mode}
        found = self._history().properties
        if any(found.get(name, value) != value for name, value in ours.items()):
            other = f"{found.get('headwater.table')} as {found.get('headwater.mode')}"
            raise ConfigError(
                "spark-table-taken",
                f"table {table} as {self._mode} would be written to the table of {other}",
                where=self.place,
            )

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        if self._address.namespace is not None:
            self._session.sql(f"CREATE NAMESPACE IF NOT EXISTS {self._address.namespace}")
        properties = _PROPERTIES | {
            "headwater.table": str(schema.table),
            "headwater.mode": self._mode,
            "headwater.key": ",".join(schema.primary_key),
        }
        listed = ", ".join(
            f"{literal(name)} = {literal(value)}" for name, value in properties.items()
        )
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({column_list(wanted)})"
            f" USING iceberg TBLPROPERTIES ({listed})"
        )

    def _exists(self) -> bool:
        return self._session.catalog.tableExists(self._name)

    def _table(self) -> Any:
        jvm: Any = self._session._jvm  # noqa: SLF001 - Iceberg's own API is behind the gateway
        load = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable
        return load(self._session._jsparkSession, self._name)  # noqa: SLF001

    def _history(self, table: Any = None) -> History:
        """Told whole in one call: thousands of snapshots one by one would take seconds."""
        table = self._table() if table is None else table
        table.refresh()
        jvm: Any = self._session._jvm  # noqa: SLF001
        metadata = table.operations().current()
        return History.parse(jvm.org.apache.iceberg.TableMetadataParser.toJson(metadata))

    def _based(self, table: Any) -> History:
        """A branch needs a snapshot to begin with, and a new table has none."""
        history = self._history(table)
        if history.current is None:
            table.newFastAppend().commit()
            history = self._history(table)
        return history


def _kind(stored: str) -> str:
    """Iceberg has no integer of 16 bits."""
    return stored.replace("smallint", "int")
