"""A generation: a Delta table below the folder of the one that it becomes, filled by appends.

Its data files are written where they will stay. To switch it in is to name them in the first commit
of the table: nothing is copied, and nobody has seen the table before. Of the folder only Delta's
log of the generation and the kept changes are removed then; VACUUM of the table treats the files as
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from headwater.event import TableSchema
from headwater.failpoint import failpoint
from headwater.spark.gateway.files import Files
from headwater.spark.source.data_file import DataFile
from headwater.spark.table.delta_append import append_files, append_rows, are_apart
from headwater.spark.table.delta_commit import action, finish
from headwater.spark.table.delta_files import KnownFiles
from headwater.spark.table.deltalog import carried, carrying, log_at, newest
from headwater.spark.table.layout import Layout
from headwater.spark.table.switch import switch_in
from headwater.spark.table.target import Taken, Target

# No leading underscore: VACUUM of the table must see these files, to remove them when it is time.
FOLDER = "headwater_load"
_ROWS = f"{FOLDER}/rows"
_CHANGES = f"{FOLDER}/_changes"
_LOG = "_delta_log"
# Beyond every sequence number: Delta skips what is added with a smaller one.
_CLOSED = 2**62


class DeltaGeneration:
    """Implements Generation.

    Positions are in the commits, by name: the stream's own for rows and kept changes, and one each
    for what happens once at the end.
    """

    def __init__(
        self,
        session: SparkSession,
        table: str,
        app_id: str,
        beside: Callable[[str, str], Target],
        known: KnownFiles,
    ) -> None:
        self._session = session
        self._table = table
        self._app_id = app_id
        self._path = f"{table}/{_ROWS}"
        self._changes = f"{table}/{_CHANGES}"
        self._beside = beside
        self._known = known

    def taken(self) -> Taken | None:
        """How far it has come."""
        rows = newest(self._session, self._path)
        if rows is None:
            return None
        changes = newest(self._session, self._changes)
        return Taken(
            rows=carried(rows, self._app_id),
            changes=0 if changes is None else carried(changes, self._app_id),
            closed=carried(rows, self._once("closed")) or None,
        )

    def _once(self, what: str) -> str:
        return f"{self._app_id}:{what}"

    def prepare(self, schema: TableSchema, layout: Layout) -> None:
        """Begin it, or bring its columns to the schema."""
        self._beside(self._path, self._app_id).prepare(schema, layout)

    def append(self, rows: DataFrame, until: int) -> None:
        """Add rows in one commit, without looking at those that are there."""
        failpoint("spark.load.before_append")
        append_rows(self._session, self._path, rows, self._app_id, until)
        failpoint("spark.load.after_append")

    def folder(self) -> str | None:
        """Its own folder, on a local disk, as long as files have the names of its columns."""
        rows = newest(self._session, self._path)
        if rows is None or str(rows.metadata().columnMappingMode().name()) != "none":
            return None
        return Files(self._session, self._path).on_disk(self._path)

    def add(self, files: Sequence[DataFile], until: int) -> None:
        """Add files in one commit, unless one before has."""
        failpoint("spark.load.before_append")
        append_files(self._session, self._path, files, self._app_id, until, self._known)
        failpoint("spark.load.after_append")

    def is_distinct(self) -> bool:
        """Whether its files say so by the bounds of their keys."""
        rows = newest(self._session, self._path)
        if rows is None:
            return False
        return are_apart(each.tags() for each in self._known.of(self._path, rows).values())

    def keep(self, events: DataFrame, until: int) -> None:
        """Keep events for the end."""
        self._save(events, self._changes, self._app_id, until)
        failpoint("spark.load.after_keep")

    def _save(
        self, rows: DataFrame, path: str, app_id: str, until: int, mode: str = "append"
    ) -> None:
        with carrying(self._session, app_id, until):
            rows.write.format("delta").mode(mode).save(path)

    def close(self, until: int) -> None:
        """Put the position beyond reach, and the true one beside it, in one commit."""
        marks = {self._app_id: _CLOSED, self._once("closed"): until}
        begun = log_at(self._session, self._path).startTransaction()
        files = self._known.of(self._path, begun.snapshot())
        version = finish(
            self._session,
            begun,
            [action(self._session, "txn", {"appId": n, "version": v}) for n, v in marks.items()],
        )
        self._known.keep(self._path, begun, version, files)
        failpoint("spark.load.closed")

    def rows(self) -> DataFrame:
        """The rows that it holds."""
        return self._session.read.format("delta").load(self._path)

    def replace(self, rows: DataFrame, until: int) -> None:
        """Hold these rows instead, once."""
        self._save(rows, self._path, self._once("replaced"), until, "overwrite")

    def kept(self) -> DataFrame | None:
        """The events that were kept; those that two drivers kept stand there twice."""
        if newest(self._session, self._changes) is None:
            return None
        kept = self._session.read.format("delta").load(self._changes)
        return kept.dropDuplicates(["sequence_number"])

    def merging(self) -> Target:
        """Its rows as a table whose position is that of the merged changes."""
        return self._beside(self._path, self._once("merged"))

    def switch(self, until: int) -> None:
        """Make the table of it, in one commit that carries the position."""
        failpoint("spark.load.before_switch")
        switch_in(self._session, self._table, _ROWS, self._app_id, until, self._known)
        failpoint("spark.load.after_switch")

    def clear(self) -> None:
        """Remove the kept changes and Delta's log of the generation; last the latter.

        The data files are the table's, or VACUUM's if the table does not use them.
        """
        files = Files(self._session, self._table)
        for path in (self._changes, f"{self._path}/{_LOG}"):
            files.remove(path)
        failpoint("spark.load.cleared")


def begun_below(session: SparkSession, location: str) -> tuple[str, ...]:
    """The folders below a location that have a generation."""
    return tuple(Files(session, location).folders(location, f"{_ROWS}/{_LOG}"))
