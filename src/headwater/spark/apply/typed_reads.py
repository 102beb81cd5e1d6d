"""Rows of a snapshot past Spark's JSON functions: read as typed columns by the source itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from headwater.event import TableId
from headwater.spark.change.changes import AT, SEQ, TableChanges
from headwater.spark.change.kinds import stored_type
from headwater.spark.change.reading import is_plain
from headwater.spark.mode.reading import as_stored
from headwater.spark.source.typed import COMMITTED, PLAIN, REFUSAL, SEQUENCE
from headwater.spark.sql import column_list
from headwater.spark.table.layout import Layout

# A session, a table, the columns, and the range (after, until] of the log.
ReadRows = Callable[[SparkSession, TableId, str, tuple[int, int]], DataFrame]


@dataclass(slots=True)
class TypedReads:
    """Which loads may read so, and how. `read` is None where there is no log to read from."""

    read: ReadRows | None = None
    _refused: set[TableId] = field(default_factory=set)

    def _suit(self, changes: TableChanges) -> bool:
        """Whether every row is told in the table's own columns, each of a plain kind."""
        columns = changes.schema.columns
        return (
            changes.schema.table not in self._refused
            and not changes.forgiving
            and all(column.type.kind in PLAIN for column in columns)
            and all(is_plain(columns, reading) for reading in changes.readings.values())
        )

    def rows(
        self,
        session: SparkSession,
        changes: TableChanges,
        layout: Layout,
        between: tuple[int, int],
    ) -> DataFrame | None:
        """The rows of a range of the log as the table stores them; None if it must be otherwise."""
        if self.read is None or not self._suit(changes):
            return None
        types = {column.name: stored_type(column.type) for column in changes.schema.columns}
        told = {SEQUENCE: "bigint", COMMITTED: "timestamp"}
        rows = self.read(session, changes.schema.table, column_list({**types, **told}), between)
        renamed = rows.withColumnsRenamed({SEQUENCE: SEQ, COMMITTED: AT})
        return as_stored(renamed, changes, layout)

    def refused(self, changes: TableChanges, error: Exception) -> bool:
        """Whether an error says that a row is not plain; the table is then not tried again."""
        if REFUSAL not in str(error):
            return False
        self._refused.add(changes.schema.table)
        return True
