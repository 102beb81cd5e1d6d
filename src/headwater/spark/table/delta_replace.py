"""Rows replaced by key in one commit: the old ones are marked as deleted, the new ones written.

A MERGE joins the batch with the table three times: for the files that it touches, for the rows to
write, and for the marks. Where each row of a batch is whole and newer than the table, nothing of
the old rows is needed but where they are. So the table's keys are read once, beside the writing of
the new rows, and both go into one commit with the position.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.failpoint import failpoint
from headwater.spark.change.sought import sought
from headwater.spark.gateway.scala import activate, items_of
from headwater.spark.sql import quoted
from headwater.spark.table.delta_commit import finish, position
from headwater.spark.table.delta_files import KnownFiles, after_commit, overlapping
from headwater.spark.table.delta_marks import marks_of
from headwater.spark.table.deltalog import VECTORS, carried, carrying, log_at
from headwater.spark.table.target import Whole

_FEED = "delta.enableChangeDataFeed"
_PHYSICAL = "delta.columnMapping.physicalName"


class Replacement:
    """One commit to one table, begun at its newest version."""

    def __init__(self, session: SparkSession, path: str, known: KnownFiles) -> None:
        activate(session)
        self._session = session
        self._path = path
        self._known = known
        self._begun = log_at(session, path).startTransaction()
        self._names = [str(name) for name in self._begun.snapshot().schema().fieldNames()]

    def suits(self, whole: Whole) -> bool:
        """Whether rows of the table may be marked, and it has no column that the rows lack.

        A table's change feed would tell an update as a delete and an insert.
        """
        return (
            self._is_on(VECTORS)
            and not self._is_on(_FEED)
            and {*self._names} == {*whole.rows.columns} - {whole.gone}
        )

    def _is_on(self, setting: str) -> bool:
        found = self._begun.metadata().configuration().get(setting)
        return bool(found.isDefined() and found.get() == "true")

    def commit(self, whole: Whole, app_id: str, until: int) -> None:
        """Replace the rows and carry the position, unless a commit before has."""
        if carried(self._begun.snapshot(), app_id) >= until:
            return
        # A commit that comes between, of this stream or to any file, makes this one fail.
        self._begun.readTxn().addOne(app_id)
        self._begun.readWholeTable()
        files = self._known.of(self._path, self._begun.snapshot())
        keys = sought(whole.rows.select(*map(quoted, whole.key)), whole.reach.count())
        # By their bounds, not by a condition: Spark would compile anew for every batch's.
        there = overlapping(files, self._in_files(whole.key[0]), whole.reach.ranges())
        with ThreadPoolExecutor(1) as beside:
            marking = beside.submit(marks_of, self._session, self._begun, there, keys)
            added = self._written(whole.rows.where(~f.col(whole.gone)))
            marks = marking.result()
        failpoint("spark.table.rows_written")
        added = [*marks.additions, *added]
        actions = [*marks.removals, *added, position(self._session, app_id, until)]
        with carrying(self._session, app_id, until):
            version = finish(self._session, self._begun, actions)
        removed = [each.path() for each in marks.removals]
        self._known.keep(self._path, self._begun, version, after_commit(files, removed, added))

    def _in_files(self, name: str) -> str:
        """The name that a column has in the files: another one, if it was renamed since."""
        told = self._begun.metadata().schema().apply(name).metadata()
        return str(told.getString(_PHYSICAL)) if told.contains(_PHYSICAL) else name

    def _written(self, rows: DataFrame) -> list[Any]:
        told = rows.select(*map(quoted, self._names))
        return items_of(self._begun.writeFiles(told._jdf))  # noqa: SLF001
