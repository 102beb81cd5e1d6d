"""One Iceberg table: made, altered and merged into by statements that we issue ourselves.

The position stands in the summary of the snapshot that moved the rows, and that snapshot becomes
the table only if nobody else has written since we looked: the same batch again is a no-op, and a
driver that was overtaken changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError, TransientError
from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.kinds import stored_type
from headwater.spark.gateway.files import Files
from headwater.spark.modes import Mode
from headwater.spark.table.alteration import Alteration
from headwater.spark.table.claim import contended, other_log
from headwater.spark.table.iceberg.catalog import FORGETFUL, Address, catalog_of, create
from headwater.spark.table.iceberg.columns import as_now, shape_of
from headwater.spark.table.iceberg.generation import IcebergGeneration, begun
from headwater.spark.table.iceberg.history import LOG, MODE, SEQUENCE, TABLE, History
from headwater.spark.table.iceberg.metadata import carrying, history_of, load
from headwater.spark.table.iceberg.publish import MAIN, publish
from headwater.spark.table.iceberg.upkeep import IcebergUpkeep
from headwater.spark.table.layout import Layout
from headwater.spark.table.path import table_of
from headwater.spark.table.shape import COLUMNS, TableShape, memory
from headwater.spark.table.target import Standing, Statement, Whole

_ATTEMPTS = 5
_PROPERTIES = {
    # What every engine reads. A table that is raised to 3 gets deletion vectors, and we go on.
    "format-version": "2",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    **FORGETFUL,
}


@dataclass(frozen=True, slots=True)
class IcebergTargets:
    """Implements Targets, Upkeeps and Loading: below a folder, or in `catalog:NAME.NAMESPACE`."""

    location: str
    log_id: str

    def open(self, session: SparkSession, table: TableId, mode: Mode) -> IcebergTarget:
        """The table that keeps a source table in a mode."""
        address = catalog_of(self.location).address(session, table, mode)
        return IcebergTarget(session, address, self.log_id, (table, mode))

    def upkeep(self, session: SparkSession, table: TableId, mode: Mode) -> IcebergUpkeep:
        """The same table from the side of its files."""
        return IcebergUpkeep(session, catalog_of(self.location).address(session, table, mode))

    def loading(self, session: SparkSession) -> tuple[tuple[TableId, Mode], ...]:
        """Those with a generation that was begun and not cleared."""
        return begun(session, catalog_of(self.location))

    def reached(self, session: SparkSession) -> int:
        """The last event of the log that any table below the folder has, 0 if none has one."""
        folders = Files(session, self.location).folders(self.location, "metadata")
        catalog = catalog_of(self.location)
        names = (catalog.address(session, *table_of(folder)).name for folder in folders)
        found = (history_of(session, load(session, name)) for name in names)
        return max((each.applied(self.log_id) for each in found), default=0)


class IcebergTarget:
    """Implements Target and Loadable for a table in a catalog, as one of its branches has it.

    It remembers the position that it last told.
    """

    def __init__(
        self,
        session: SparkSession,
        address: Address,
        log_id: str,
        kept: tuple[TableId, Mode],
        branch: str = MAIN,
    ) -> None:
        self._session = session
        self._address = address
        self._name = address.name
        self._log_id = log_id
        self._source, self._mode = kept
        self._branch = branch
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
        self._require_ours(history.properties)
        self._seen = history.applied(self._log_id)
        if not self._seen and history.is_of_another(self._log_id):
            raise other_log(self.place)
        return Standing(history.current, self._seen, history.files)

    def generation(self) -> IcebergGeneration:
        """What it is loaded into."""
        session, kept = self._session, (self._source, self._mode)

        def opened(address: Address, log_id: str, branch: str) -> IcebergTarget:
            return IcebergTarget(session, address, log_id, kept, branch)

        return IcebergGeneration(session, self._address, self._log_id, kept, opened)

    def rows(self, standing: Standing) -> DataFrame | None:
        """The rows as they stood, whatever another driver has written since."""
        if standing.version is None:
            return None
        rows = self._session.read.option("versionAsOf", standing.version).table(self._name)
        history = self._history()
        then = history.shape_then(standing.version)
        if then == history.shape:
            return rows
        now = self._session.table(self._name).schema
        return as_now(rows, then, history, now)

    def prepare(self, schema: TableSchema, layout: Layout) -> bool:
        """Make the table if there is none; True if it is new and therefore empty."""
        if self._exists():
            return False
        wanted = {column.name: stored_type(column.type) for column in schema.columns}
        failpoint("spark.table.before_create")
        self._create({**wanted, **layout}, schema)
        failpoint("spark.table.after_create")
        self._remember_new(schema)
        return True

    def shape(self) -> TableShape | None:
        """The columns that came from the source; None if there is no table."""
        if not self._exists():
            return None
        return shape_of(self._history(), self._session.table(self._name).schema)

    def statements(self, alterations: Sequence[Alteration]) -> tuple[str, ...]:
        """The statements, with the name that the table has in a session of theirs."""
        return tuple(each.on(self._address.public) for each in alterations)

    def alter(self, alterations: Sequence[Alteration]) -> None:
        """Change the columns; what an earlier process has done of it is not among them."""
        for each in alterations:
            failpoint("spark.table.before_alter")
            self._session.sql(each.on(self._name))
            failpoint("spark.table.after_alter")

    def remember(self, memory: str, key: Sequence[str]) -> None:
        """Keep which column is which."""
        noted = self._table().updateProperties().set(COLUMNS, memory)
        noted.set("headwater.key", ",".join(key)).commit()

    def fill(self, rows: DataFrame, until: int) -> None:
        """Bring a new table to `until` without a MERGE: there is nothing to merge with."""

        def append(branch: str) -> None:
            failpoint("spark.table.before_fill")
            rows.writeTo(f"{self._name}.branch_{branch}").append()
            failpoint("spark.table.after_fill")

        self._commit(until, append)

    def write(
        self, rows: DataFrame, until: int, statement: Statement, whole: Whole | None = None
    ) -> None:
        """Bring the table to `until` in one snapshot that carries its position."""
        del whole  # its MERGE marks rows and adds files as well
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

    def mark(self, until: int) -> None:
        """Bring the table to `until` by a snapshot that adds no file."""

        def append(branch: str) -> None:
            nothing = self._table().newFastAppend().toBranch(branch)
            nothing.set(LOG, self._log_id).set(SEQUENCE, str(until)).commit()

        self._commit(until, append)

    def contended(self, error: Exception) -> bool:
        """Never: a commit is tried again here, on top of what came between."""
        del error
        return False

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
            try:
                position = self._log_id, until
                with carrying(self._session, *position):
                    publish(table, self._branch, history.base, position, work)
            except Exception as exc:
                if self._history().current == history.current:
                    raise
                if attempt == _ATTEMPTS:
                    raise contended(self.place, attempt) from exc
            else:
                return

    def _overtaken(self) -> TransientError:
        return TransientError(
            "spark-overtaken",
            "another driver has written to the table while this one worked out its rows",
            where=self.place,
        )

    def _require_ours(self, found: Mapping[str, str]) -> None:
        """Names in a catalog are narrower than a database's: two tables may want the same."""
        ours = {TABLE: str(self._source), MODE: self._mode}
        if any(found.get(name, value) != value for name, value in ours.items()):
            other = f"{found.get(TABLE)} as {found.get(MODE)}"
            raise ConfigError(
                "spark-table-taken",
                f"table {self._source} as {self._mode} would be written to the table of {other}",
                where=self.place,
            )

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        owner = {TABLE: str(schema.table), MODE: self._mode}
        key = {"headwater.key": ",".join(schema.primary_key)}
        create(self._session, self._address, wanted, _PROPERTIES | owner | key)

    def _remember_new(self, schema: TableSchema) -> None:
        """Iceberg numbers columns as it makes the table.

        Until this is done they are known by their names, which are the source's so far.
        """
        places = {name: str(number) for number, name in self._history().columns.items()}
        columns = [(places[each.name], each.number) for each in schema.columns]
        key = schema.primary_key
        self.remember(memory(columns, (places[name] for name in key)), key)

    def _exists(self) -> bool:
        return self._session.catalog.tableExists(self._name)

    def _table(self) -> Any:
        return load(self._session, self._name)

    def _history(self, table: Any = None) -> History:
        known = history_of(self._session, self._table() if table is None else table)
        return known.on(self._branch)

    def _based(self, table: Any) -> History:
        """A branch needs a snapshot to begin with, and a new table has none."""
        history = self._history(table)
        if history.current is None:
            if self._branch != MAIN:  # somebody has finished what was begun there
                raise self._overtaken()
            table.newFastAppend().commit()
            history = self._history(table)
        return history
