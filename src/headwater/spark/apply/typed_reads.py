"""Rows past Spark's JSON functions: read as typed columns by the source itself.

`TypedReads` says which tables can be read so, and asks. A task that finds a value which is not
plain raises a refusal; the table is then read by Spark's functions, now and later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.event import Kind, LogicalType, TableId
from headwater.event.verbatim import is_verbatim
from headwater.spark.change.changes import AT, DELETED, SEQ, TableChanges, whole
from headwater.spark.change.kinds import stored_type
from headwater.spark.change.reading import is_plain
from headwater.spark.mode.reading import NEW_ROW
from headwater.spark.source.data_file import DataFile
from headwater.spark.source.typed_read import (
    COMMITTED,
    FILE_DDL,
    GONE,
    PLAIN,
    REFUSAL,
    SEQUENCE,
    TypedRead,
)
from headwater.spark.sql import column_list
from headwater.spark.table.layout import Layout

# A session, what is asked, the columns of the answer, and the range (after, until] of the log.
AskRows = Callable[[SparkSession, TypedRead, str, tuple[int, int]], DataFrame]

# By the name in a frame of changes: what the source calls it, and its type.
_TOLD = {SEQ: (SEQUENCE, "bigint"), AT: (COMMITTED, "timestamp"), DELETED: (GONE, "boolean")}
# Keys of these kinds have an order that all readers of their bounds agree on.
_ORDERED = {Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING, Kind.UUID}


@dataclass(slots=True)
class TypedReads:
    """Which tables may be read so, and how. `ask` is None where there is no log to read from."""

    ask: AskRows | None = None
    _refused: set[TableId] = field(default_factory=set)

    def _suit(self, changes: TableChanges) -> bool:
        """Whether every row is told in the table's own columns, each of a plain kind."""
        columns = changes.schema.columns
        return (
            changes.schema.table not in self._refused
            and changes.told is not None
            and not changes.forgiving
            and all(column.type.kind in PLAIN for column in columns)
            and all(is_plain(columns, reading) for reading in changes.readings.values())
        )

    def rows(
        self,
        session: SparkSession,
        changes: TableChanges,
        layout: Layout,
        after: int,
    ) -> DataFrame | None:
        """The rows that a snapshot read, as the table stores them; None if it must be otherwise."""
        if self.ask is None or not self._suit(changes):
            return None
        asked, columns = _reading(changes, layout)
        return self.ask(session, asked, columns, _reach(changes, after))

    def files(
        self,
        session: SparkSession,
        changes: TableChanges,
        layout: Layout,
        after: int,
        folder: str,
    ) -> Sequence[DataFile] | None:
        """The same rows in files, written by the tasks that read them."""
        if self.ask is None or not self._suit(changes):
            return None
        asked, _ = _reading(changes, layout, folder)
        written = self.ask(session, asked, FILE_DDL, _reach(changes, after))
        return [DataFile(**row.asDict()) for row in written.collect()]

    def changes(
        self, session: SparkSession, changes: TableChanges
    ) -> Callable[[int], DataFrame] | None:
        """Changes of whole rows after a position, for each task the last one of each key."""
        ask = self.ask
        if ask is None or changes.merges or not self._suit(changes):
            return None
        columns = _types(changes) | {name: kind for name, (_, kind) in _TOLD.items()}
        asked = TypedRead(
            changes.schema.table,
            _struct(columns),
            {name: what for name, (what, _) in _TOLD.items()},
            kept=_kept(changes),
            latest_by=changes.schema.primary_key,
        )

        def rows(after: int) -> DataFrame:
            reach = _reach(changes, after)
            return whole(ask(session, asked, column_list(columns), reach), changes)

        return rows

    def refused(self, changes: TableChanges, error: Exception) -> bool:
        """Whether an error says that a row is not plain; the table is then not tried again."""
        if REFUSAL not in str(error):
            return False
        self._refused.add(changes.schema.table)
        return True


def _reach(changes: TableChanges, after: int) -> tuple[int, int]:
    """The part of the log with the table's events of this batch that come after a position.

    No more than that: what the log held before may be gone, and is not for this load.
    """
    if changes.told is None:
        raise ValueError("it is not known where the events lie")
    begin, until = changes.told
    return max(begin, after), max(until, after)


def _reading(
    changes: TableChanges, layout: Layout, folder: str | None = None
) -> tuple[TypedRead, str]:
    columns = {**_types(changes), **layout}
    key = changes.schema.primary_key
    kinds = {column.name: column.type.kind for column in changes.schema.columns}
    asked = TypedRead(
        changes.schema.table,
        _struct(columns),
        {name: _told(NEW_ROW.get(name)) for name in layout},
        kept=_kept(changes),
        folder=folder,
        distinct=key[0] if len(key) == 1 and kinds[key[0]] in _ORDERED else None,
    )
    return asked, column_list(columns)


def _told(what: str | bool | None) -> str | bool | None:  # noqa: FBT001 - a value, no switch
    return _TOLD[what][0] if isinstance(what, str) else what


def _types(changes: TableChanges) -> dict[str, str]:
    return {column.name: stored_type(column.type) for column in changes.schema.columns}


def _kept(changes: TableChanges) -> dict[str, LogicalType]:
    columns = changes.schema.columns
    return {each.name: each.type for each in columns if is_verbatim(each.type)}


def _struct(columns: dict[str, str]) -> StructType:
    parsed = StructType.fromDDL(column_list(columns))
    if not isinstance(parsed, StructType):
        raise TypeError(f"{parsed} are no columns")
    return parsed
