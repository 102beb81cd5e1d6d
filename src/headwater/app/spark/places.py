"""Places of parked tables as cursors of the log: retention waits for them, status shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headwater.event import TableId
from headwater.log import SqliteLog

_BETWEEN = ":"


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

    def park(self, name: str, after: int) -> None:
        """Keep a place."""
        SqliteLog(self.log_path).hold(self.cursor(name), after)

    def release(self, name: str) -> None:
        """Let it go."""
        SqliteLog(self.log_path).remove_cursor(self.cursor(name))

    def _keeps(self, name: str) -> bool:
        schema, _, table = name.rpartition("@")[0].rpartition(".")
        return not self.tables or TableId(schema or None, table).matches(self.tables)

    def cursor(self, name: str) -> str:
        """The cursor that keeps the place of a table."""
        return f"{self.consumer}{_BETWEEN}{name}"


def parked_table(cursor: str, consumer: str) -> str | None:
    """The table and mode that a cursor keeps the place of, None if it is another consumer."""
    begin = f"{consumer}{_BETWEEN}"
    return cursor.removeprefix(begin) if cursor.startswith(begin) else None
