"""One Delta table: made, altered and merged into by statements that we issue ourselves.

Delta records our position inside the commit that moved the rows: `txnVersion` is the last sequence
number of the batch, so the same batch again is a no-op and a half-done batch is finished, never
repeated. The commit's metadata says the same for people who read the table's history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.kinds import stored_type
from headwater.spark.gateway.files import Files
from headwater.spark.gateway.thrown import is_thrown
from headwater.spark.modes import Mode
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.table.alteration import Alteration
from headwater.spark.table.claim import other_log
from headwater.spark.table.delta_columns import shape_of, statements, table_properties
from headwater.spark.table.delta_commit import advance
from headwater.spark.table.delta_files import KnownFiles
from headwater.spark.table.delta_replace import Replacement
from headwater.spark.table.delta_upkeep import DeltaUpkeep
from headwater.spark.table.deltalog import (
    app_of,
    beyond_retention,
    carried,
    carrying,
    log_of,
    newest,
    noted,
    positions,
)
from headwater.spark.table.generation import DeltaGeneration, begun_below
from headwater.spark.table.layout import Layout
from headwater.spark.table.path import table_of, table_path
from headwater.spark.table.shape import COLUMNS, TableShape, memory_of
from headwater.spark.table.target import Standing, Statement, Whole

_CONFLICT = "org.apache.spark.sql.delta.DeltaConcurrentModificationException"


@dataclass(frozen=True, slots=True)
class DeltaTargets:
    """Implements Targets: a folder per table and mode below `location`."""

    location: str
    log_id: str
    known: KnownFiles = field(default_factory=KnownFiles, compare=False, repr=False)

    def open(self, session: SparkSession, table: TableId, mode: Mode) -> DeltaTarget:
        """The table that keeps a source table in a mode."""
        path = table_path(self.location, table, mode)
        return DeltaTarget(session, path, app_of(self.log_id), self.known)

    def upkeep(self, session: SparkSession, table: TableId, mode: Mode) -> DeltaUpkeep:
        """The same table from the side of its files."""
        return DeltaUpkeep(session, table_path(self.location, table, mode))

    def loading(self, session: SparkSession) -> tuple[tuple[TableId, Mode], ...]:
        """Those with a generation that was begun and not cleared."""
        return tuple(map(table_of, begun_below(session, self.location)))

    def reached(self, session: SparkSession) -> int:
        """The last event of the log that any table below the location has, 0 if none has one."""
        folders = Files(session, self.location).folders(self.location, "_delta_log")
        found = (newest(session, f"{self.location}/{folder}") for folder in folders)
        ours = app_of(self.log_id)
        return max((carried(each, ours) for each in found if each is not None), default=0)


class DeltaTarget:
    """Implements Target and Loadable for a table at a path."""

    def __init__(
        self,
        session: SparkSession,
        path: str,
        app_id: str,
        known: KnownFiles | None = None,
        *,
        vectors: bool = True,
    ) -> None:
        self._session = session
        self._path = path
        self._app_id = app_id
        self._known = known or KnownFiles()
        self._vectors = vectors
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
        snapshot = newest(self._session, self._path)
        return None if snapshot is None else shape_of(snapshot)

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
        return newest(self._session, self._path) is not None

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        key = ",".join(schema.primary_key)
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({column_list(wanted)})"
            f" USING delta TBLPROPERTIES ({table_properties(wanted, vectors=self._vectors)},"
            f" '{COLUMNS}' = {literal(memory_of(schema))},"
            f" 'headwater.table' = {literal(str(schema.table))},"
            f" 'headwater.key' = {literal(key)})"
        )

    def standing(self) -> Standing:
        """What the table is now; the position and the rows of one version belong together."""
        snapshot = newest(self._session, self._path)
        if snapshot is None:
            return Standing(None, 0)
        note, known = noted(snapshot), positions(snapshot)
        logs = {log for name in known if (log := log_of(name)) is not None}
        if logs and log_of(self._app_id) not in logs:
            raise other_log(self._path)
        return Standing(
            version=int(snapshot.version()),
            applied=known.get(self._app_id, 0),
            files=0 if note is None else int(note.numFiles()),
        )

    def rows(self, standing: Standing) -> DataFrame | None:
        """The rows as they stood, whatever another driver has written since."""
        if standing.version is None:
            return None
        reader = self._session.read.format("delta").option("versionAsOf", standing.version)
        with beyond_retention(self._session):
            return reader.load(self._path)

    def fill(self, rows: DataFrame, until: int) -> None:
        """Bring a new table to `until` without a MERGE: there is nothing to merge with.

        It replaces rather than appends: another driver that filled the table since we looked held
        the same changes, and appending them again would double every key.
        """
        with carrying(self._session, self._app_id, until):
            failpoint("spark.table.before_fill")
            rows.write.format("delta").mode("overwrite").save(self._path)
            failpoint("spark.table.after_fill")

    def write(
        self, rows: DataFrame, until: int, statement: Statement, whole: Whole | None = None
    ) -> None:
        """Bring the table to `until` in one commit that carries its position."""
        failpoint("spark.table.before_merge")
        if whole is None or not self._replaced(whole, until):
            self._merged(rows, until, statement)
        failpoint("spark.table.after_merge")

    def _replaced(self, whole: Whole, until: int) -> bool:
        replacement = Replacement(self._session, self._path, self._known)
        if not replacement.suits(whole):
            return False
        replacement.commit(whole, self._app_id, until)
        return True

    def _merged(self, rows: DataFrame, until: int, statement: Statement) -> None:
        view = f"headwater_{uuid4().hex}"
        rows.createOrReplaceTempView(view)
        try:
            with carrying(self._session, self._app_id, until):
                self._session.sql(statement(self._name, view))
        finally:
            self._session.catalog.dropTempView(view)

    def mark(self, until: int) -> None:
        """Bring the table to `until` by a commit that has nothing but the position."""
        advance(self._session, self._path, self._app_id, until)

    def contended(self, error: Exception) -> bool:
        """Whether Delta has found another commit between the beginning and the end of one."""
        return is_thrown(self._session, error, _CONFLICT)

    def generation(self) -> DeltaGeneration:
        """What a new table is loaded into."""
        return DeltaGeneration(self._session, self._path, self._app_id, self._beside, self._known)

    def _beside(self, path: str, app_id: str) -> DeltaTarget:
        # Deletion vectors are found by the folder of their table, and these files will change it.
        return DeltaTarget(self._session, path, app_id, self._known, vectors=False)
