"""One Delta table: made, widened and merged into by statements that we issue ourselves.

Delta records our position inside the commit that moved the rows: `txnVersion` is the last sequence
number of the batch, so the same batch again is a no-op and a half-done batch is finished, never
repeated. The table property says the same for people; it is written right after.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError
from headwater.event import TableId, TableSchema
from headwater.failpoint import failpoint
from headwater.spark.change.columns import stored_type
from headwater.spark.modes import Mode
from headwater.spark.sql import column_list, literal, quoted
from headwater.spark.table.deltalog import PROPERTY, VECTORS, carried, carry_position, newest
from headwater.spark.table.generation import DeltaGeneration, begun_below
from headwater.spark.table.layout import Layout
from headwater.spark.table.path import table_of, table_path
from headwater.spark.table.target import Standing, Statement

__all__ = ["PROPERTY", "DeltaTarget", "DeltaTargets"]


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

    def loading(self, session: SparkSession) -> tuple[tuple[TableId, Mode], ...]:
        """Those with a generation that was begun and not cleared."""
        return tuple(map(table_of, begun_below(session, self.location)))


class DeltaTarget:
    """Implements Target and Loadable for a table at a path."""

    def __init__(
        self, session: SparkSession, path: str, app_id: str, *, vectors: bool = True
    ) -> None:
        self._session = session
        self._path = path
        self._app_id = app_id
        self._vectors = vectors
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
        return newest(self._session, self._path) is not None

    def _create(self, wanted: dict[str, str], schema: TableSchema) -> None:
        key = ",".join(schema.primary_key)
        self._session.sql(
            f"CREATE TABLE IF NOT EXISTS {self._name} ({column_list(wanted)})"
            f" USING delta TBLPROPERTIES ('{VECTORS}' = '{str(self._vectors).lower()}',"
            f" 'headwater.table' = {literal(str(schema.table))},"
            f" 'headwater.key' = {literal(key)}, '{PROPERTY}' = '0')"
        )

    def standing(self) -> Standing:
        """What the table is now; the position and the rows of one version belong together."""
        snapshot = newest(self._session, self._path)
        if snapshot is None:
            return Standing(None, 0)
        return Standing(int(snapshot.version()), carried(snapshot, self._app_id))

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
        carry_position(self._session, self._app_id, until)

    def generation(self) -> DeltaGeneration:
        """What a new table is loaded into."""
        return DeltaGeneration(self._session, self._path, self._app_id, self._beside)

    def _beside(self, path: str, app_id: str) -> DeltaTarget:
        # Deletion vectors are found by the folder of their table, and these files will change it.
        return DeltaTarget(self._session, path, app_id, vectors=False)

    def note_position(self, until: int) -> None:
        """Show the position where people look for it: SHOW TBLPROPERTIES."""
        self._session.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ('{PROPERTY}' = '{until}')")
        failpoint("spark.table.after_property")
