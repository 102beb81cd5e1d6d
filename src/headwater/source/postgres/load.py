"""The first load: the exported snapshot's chunks as batches, in the order of the tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import psycopg
from psycopg import errors

from headwater.contract import SourceBatch
from headwater.errors import TransientError
from headwater.source.postgres.names import quote_table
from headwater.source.postgres.place import PendingTable, Place, SnapshotPlace
from headwater.source.postgres.server.connect import translated
from headwater.source.postgres.session import Session
from headwater.source.postgres.tables.chunk import Chunk, Unit, plan
from headwater.source.postgres.tables.pieces import chunk_batches
from headwater.source.postgres.tables.snapshot import ChunkRows, ExportedSnapshot


class InitialLoad:
    """Reads all captured tables. `place` is where what was handed on leaves the source."""

    def __init__(self, session: Session, begin: Place, snapshot_name: str) -> None:
        self._session = session
        self._snapshot = ExportedSnapshot(session.config, snapshot_name)
        try:
            with translated(session.where):
                units = _held(session, self._snapshot.connection)
                seen = session.snapshot_text(self._snapshot.connection)
        except BaseException:
            self._snapshot.close()
            raise
        self.place = session.roll.marked(replace(begin, snapshot=_owed(units, seen)))
        self._batches: Iterator[SourceBatch] = iter(())
        self._snapshot.begin(_chunks(units, session.config.chunk_rows))

    def read(self, max_events: int) -> SourceBatch | None:
        """The next batch; None after the last."""
        batch = next(self._batches, None)
        if batch is None:
            rows = self._snapshot.next()
            if rows is None:
                return None
            self._batches = self._emit(rows, max_events)
            batch = next(self._batches)
        if batch.events.closes_transaction:
            self.place = Place.decode(batch.position)
        return batch

    def _emit(self, rows: ChunkRows, max_events: int) -> Iterator[SourceBatch]:
        owed = self.place.snapshot
        if owed is None:
            return iter(())
        after = rows.chunk.after(owed.first, len(rows.images))
        unit = rows.chunk.unit
        return chunk_batches(self._session, unit, rows.images, self.place, after, max_events)

    def close(self) -> None:
        """Give the snapshot up. Safe to call twice."""
        self._snapshot.close()


def _held(session: Session, connection: psycopg.Connection) -> tuple[Unit, ...]:
    """The tables, held against being rebuilt or dropped until their rows are read.

    What happened to them between the slot and the lock cannot be undone: a snapshot does not see
    the rows of a table that was rebuilt after it. Then everything begins again.
    """
    names = [quote_table(unit.stored.table) for unit in session.units(connection)]
    if names:
        only = ", ".join(f"ONLY {name}" for name in names)
        try:
            connection.execute(f"LOCK TABLE {only} IN ACCESS SHARE MODE".encode())
        except errors.UndefinedTable as exc:
            raise _disturbed("dropped") from exc
    session.roll.look()
    units = session.units(connection)
    if any(unit.stored.rebuilt for unit in units):
        raise _disturbed("rebuilt")
    return units


def _disturbed(what: str) -> TransientError:
    return TransientError("postgres-busy", f"a table was {what} while its first load began")


def _owed(units: tuple[Unit, ...], seen: str) -> SnapshotPlace | None:
    if not units:
        return None
    pending = tuple(
        PendingTable(unit.oid, rows_total=unit.stored.rows_total, filenode=unit.stored.filenode)
        for unit in units
    )
    return SnapshotPlace(f"{time.time_ns() // 1_000_000:x}", pending, seen)


def _chunks(units: tuple[Unit, ...], rows_per_chunk: int) -> Iterator[Chunk]:
    for unit in units:
        yield from plan(unit, 0, rows_per_chunk)
