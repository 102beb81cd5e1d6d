"""Places of parked tables as cursors of the log: retention waits for them, status shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path

from headwater.event import TableId
from headwater.log import CursorPlace, SqliteLog
from headwater.spark.apply.parking import Held
from headwater.spark.modes import name_of, named

_BETWEEN = ":"
# Behind the name of a place that people chose: the table may stand before it.
_RELEASED = "!"


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

    def parked(self) -> Mapping[str, Held]:
        """Every parked table with its place."""
        found = self._held(SqliteLog(self.log_path).places())
        return {name: held for name, held in found.items() if self._keeps(name)}

    def claims(self) -> Claims:
        """What the tables must have by now."""
        places = SqliteLog(self.log_path).places()
        stream = next((each.acked for each in places if each.name == self.consumer), 0)
        return Claims(stream, {name: held.after for name, held in self._held(places).items()})

    def park(self, name: str, after: int, *, released: bool = False) -> None:
        """Keep a place. After a crash between two the earlier counts, which reads more."""
        log = SqliteLog(self.log_path)
        ours, other = self._cursors(name, released=released)
        log.hold(ours, after)
        self._remove(log, other)

    def release(self, name: str) -> None:
        """Let it go."""
        log = SqliteLog(self.log_path)
        for cursor in self._cursors(name, released=False):
            self._remove(log, cursor)

    def clear(self) -> None:
        """Let all of them go: those of tables that are left out, too."""
        for name in replace(self, tables=()).parked():
            self.release(name)

    def _held(self, places: Iterable[CursorPlace]) -> dict[str, Held]:
        found = dict[str, Held]()
        for cursor in places:
            name = parked_table(cursor.name, self.consumer)
            if name is not None:
                held = Held(cursor.acked, cursor.name.endswith(_RELEASED))
                found[name] = min(held, found.get(name, held), key=attrgetter("after"))
        return found

    def _remove(self, log: SqliteLog, cursor: str) -> None:
        if cursor in {place.name for place in log.places()}:
            log.remove_cursor(cursor)

    def _keeps(self, name: str) -> bool:
        tables, _ = named(name)
        return not self.tables or any(table.matches(self.tables) for table in tables)

    def _cursors(self, name: str, *, released: bool) -> tuple[str, str]:
        """The cursor that keeps the place of a table, and the one that may have kept it before."""
        parked = f"{self.consumer}{_BETWEEN}{name}"
        both = (parked, f"{parked}{_RELEASED}")
        return both[::-1] if released else both


def parked_table(cursor: str, consumer: str) -> str | None:
    """The table and mode that a cursor keeps the place of, None if it is another consumer."""
    begin = f"{consumer}{_BETWEEN}"
    if not cursor.startswith(begin):
        return None
    return cursor.removeprefix(begin).removesuffix(_RELEASED)
