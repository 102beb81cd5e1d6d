"""Places of parked tables as cursors of the log: retention waits for them, status shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.event import TableId
from headwater.log import SqliteLog
from headwater.spark.modes import name_of, named

_BETWEEN = ":"


@dataclass(frozen=True, slots=True)
class Claims:
    """Up to which event each table has everything, by what the cursors said at one moment.

    A cursor moves when the tables have taken a batch, and a table is parked before that: one that
    is looked at later has at least so much, or it lacks what it had.
    """

    stream: int
    parked: Mapping[str, int]

    def of(self, table: TableId, mode: str) -> int:
        """What a table in a mode must have; nothing is claimed before the stream has begun."""
        return self.parked.get(name_of(table, mode), self.stream)


@dataclass(frozen=True, slots=True)
class CursorPlaces:
    """Implements parking.Places for one consumer of a log.

    A table that is none of `tables` is left alone: its place stays, for when it is kept again.
    """

    log_path: Path | str
    consumer: str
    tables: tuple[str, ...] = ()

    def parked(self) -> Mapping[str, int]:
        """Every parked table with the last event that it has taken."""
        return {
            table: cursor.acked
            for cursor in SqliteLog(self.log_path).places()
            if (table := parked_table(cursor.name, self.consumer)) is not None
            and self._keeps(table)
        }

    def claims(self) -> Claims:
        """What the tables must have by now."""
        acked = {cursor.name: cursor.acked for cursor in SqliteLog(self.log_path).places()}
        named = ((parked_table(name, self.consumer), after) for name, after in acked.items())
        parked = {table: after for table, after in named if table is not None}
        return Claims(acked.get(self.consumer, 0), parked)

    def park(self, name: str, after: int) -> None:
        """Keep a place."""
        SqliteLog(self.log_path).hold(self.cursor(name), after)

    def release(self, name: str) -> None:
        """Let it go."""
        SqliteLog(self.log_path).remove_cursor(self.cursor(name))

    def _keeps(self, name: str) -> bool:
        tables, _ = named(name)
        return not self.tables or any(table.matches(self.tables) for table in tables)

    def cursor(self, name: str) -> str:
        """The cursor that keeps the place of a table."""
        return f"{self.consumer}{_BETWEEN}{name}"


def parked_table(cursor: str, consumer: str) -> str | None:
    """The table and mode that a cursor keeps the place of, None if it is another consumer."""
    begin = f"{consumer}{_BETWEEN}"
    return cursor.removeprefix(begin) if cursor.startswith(begin) else None
