"""What is owed, in words for people."""

from __future__ import annotations

from collections import deque

import psycopg

from headwater.contract import Owed, OwedState
from headwater.source.postgres.place import PendingTable, SnapshotPlace
from headwater.source.postgres.tables.chunk import Unit, stored_tables

_ENDED_SHOWN = 50


class Progress:
    """Tables by name: those that are owed, and those that ended lately."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._names: dict[int, str] = {}
        self._ended: deque[Owed] = deque(maxlen=_ENDED_SHOWN)

    def done(self, unit: Unit, table: PendingTable, rows: int) -> None:
        """A table was read to its end, with so many rows."""
        name = str(unit.stored.table)
        self._ended.append(Owed(name, OwedState.DONE, rows, rows, table.command, table.where))

    def dropped(self, table: PendingTable) -> None:
        """A table is gone, and was not read to its end."""
        name, rows = self._name(table), table.rows_done
        why = "the table is gone, or not captured any more"
        self._ended.append(
            Owed(name, OwedState.STOPPED, rows, None, table.command, table.where, why)
        )

    def shown(self, owed: SnapshotPlace | None) -> tuple[Owed, ...]:
        """Everything worth showing, in the order in which it was or will be read."""
        if owed is None:
            return tuple(self._ended)
        self._look_up(owed)
        return (*self._ended, *(self._shown(owed, table) for table in owed.pending))

    def _shown(self, owed: SnapshotPlace, table: PendingTable) -> Owed:
        state = OwedState.WAITING
        if table.failed is not None:
            state = OwedState.FAILED
        elif owed.paused:
            state = OwedState.PAUSED
        elif table is owed.first and table.filenode is not None:
            state = OwedState.READING
        return Owed(
            self._name(table),
            state,
            table.rows_done,
            table.rows_total,
            table.command,
            table.where,
            table.failed,
        )

    def _name(self, table: PendingTable) -> str:
        return self._names.get(table.oid, f"table {table.oid}")

    def _look_up(self, owed: SnapshotPlace) -> None:
        unknown = [table.oid for table in owed.pending if table.oid not in self._names]
        if unknown:
            found = stored_tables(self._connection, unknown)
            self._names |= {stored.oid: str(stored.table) for stored in found}
