"""Rows that are owed, read beside the running stream, chunk by chunk.

After a crash the first load's snapshot is gone, and a table may be asked for at any time. Such rows
are read in newer snapshots and put between the stream's transactions (see watermark). A row that
moves meanwhile into a page that was read already is found by its age in a last look at the whole
table: the stream's update of it may lack values that it did not change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import psycopg
from psycopg import errors

from headwater.contract import Command, Owed, SourceBatch
from headwater.failpoint import failpoint
from headwater.source.postgres.commands import carried_out
from headwater.source.postgres.place import PendingTable, Place, SnapshotPlace
from headwater.source.postgres.progress import Progress
from headwater.source.postgres.server.connect import translated
from headwater.source.postgres.session import Session
from headwater.source.postgres.stream.running import Stream
from headwater.source.postgres.tables.chunk import Chunk, Unit
from headwater.source.postgres.tables.condition import bracketed, is_refusal, reason
from headwater.source.postgres.tables.pieces import chunk_batches
from headwater.source.postgres.tables.throttle import Throttle
from headwater.source.postgres.tables.watermark import Visibility, WaitingChunk, read_waiting

_POLL_S = 0.02
# While rows are owed, "nothing yet" must not be taken for "caught up".
_LEAST_WAIT_S = 5.0
_LOOK_AGAIN_S = 0.1
_ALTERED = (errors.UndefinedColumn, errors.UndefinedTable)


class Backfill:
    """Brings owed rows into a stream, whose place says which they are."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._connection = session.side_connection("backfill")
        # What an earlier process handed on is not remembered, and may not be seen by others yet.
        self._after_xid = session.beyond_running() or 0
        self._throttle = Throttle()
        self._progress = Progress(self._connection)
        self._units: dict[int, Unit] = {}
        self._waiting: WaitingChunk | None = None
        self._batches: Iterator[SourceBatch] = iter(())
        self._look_at = 0.0

    def take(self, stream: Stream, command: Command) -> None:
        """Carry a command out. A chunk that waits is read again, if it is still wanted then."""
        with translated(self._session.where):
            stream.place = carried_out(self._session, self._connection, stream.place, command)
        self._waiting = None
        self._throttle.lift()

    def owed(self, stream: Stream) -> tuple[Owed, ...]:
        """What is owed and what was lately done."""
        with translated(self._session.where):
            return self._progress.shown(stream.place.snapshot)

    def read(self, stream: Stream, max_events: int, timeout_s: float) -> SourceBatch | None:
        """The next batch, of the stream or of a chunk that may go in now."""
        deadline = time.monotonic() + max(timeout_s, _LEAST_WAIT_S)
        while True:
            batch = next(self._batches, None)
            if batch is not None:
                stream.place = Place.decode(batch.position)
                return batch
            if self._waiting is None and not self._begin_chunk(stream) and _idle(stream.place):
                return stream.read(max_events, timeout_s, None)
            waiting = self._waiting
            if waiting is not None and stream.passed(waiting.until):
                self._batches = self._emit(waiting, stream.place, max_events)
                self._waiting = None
                continue
            batch = stream.read(max_events, _POLL_S, waiting)
            if batch is not None or time.monotonic() > deadline:
                return batch
            if waiting is not None:
                self._session.probe()

    def _begin_chunk(self, stream: Stream) -> bool:
        """Read the next owed chunk; False if there is none to be read now."""
        owed = stream.place.snapshot
        if owed is None or owed.idle or not self._ready():
            return False
        table, known = owed.first, owed.first.oid in self._units
        unit = self._unit(table.oid)
        if unit is None:  # the table is gone, and its rows with it
            self._progress.dropped(table)
            return self._again(stream, owed.with_first(None))
        with translated(self._session.where):
            if not self._settled(table):
                return False
            try:
                waiting = read_waiting(self._connection, self._chunk(unit, table, owed.seen))
            except psycopg.Error as exc:
                if isinstance(exc, _ALTERED) and (known or table.where is None):
                    return self._again(stream, owed)
                if table.where is None or not is_refusal(exc):
                    raise
                # The condition does not fit every row. That is nobody's matter but the asker's.
                return self._again(stream, owed.with_first(replace(table, failed=reason(exc))))
        if stream.handed.unseen_by(Visibility.parse(waiting.seen)):
            self._look_at = time.monotonic() + _LOOK_AGAIN_S
            return False
        if table.filenode not in (None, waiting.filenode):
            # It was rebuilt: its rows lie in other pages now, with their old age.
            table = replace(table, next_page=0, rows_done=0, seen=None, rescan=False, filenode=None)
            return self._again(stream, owed.with_first(table))
        self._begun(stream, owed, unit, waiting)
        return True

    def _again(self, stream: Stream, owed: SnapshotPlace | None) -> bool:
        """Begin with what is owed in truth, and look at the tables anew."""
        stream.place = replace(stream.place, snapshot=owed)
        self._units.clear()
        return self._begin_chunk(stream)

    def _begun(
        self, stream: Stream, owed: SnapshotPlace, unit: Unit, waiting: WaitingChunk
    ) -> None:
        self._waiting = waiting
        table = owed.first
        self._throttle.spent(len(waiting.images), self._limit(table))
        if table.filenode is None and not table.anew:
            total = unit.stored.rows_total if table.rows_total is None else table.rows_total
            first = replace(table, seen=waiting.seen, filenode=waiting.filenode, rows_total=total)
            stream.place = replace(stream.place, snapshot=owed.with_first(first))
        failpoint("source.postgres.backfill_read")

    def _ready(self) -> bool:
        return self._throttle.ready() and time.monotonic() >= self._look_at

    def _limit(self, table: PendingTable) -> int | None:
        general = self._session.config.snapshot_rows_per_s
        return general if table.rows_per_s is None else table.rows_per_s

    def _settled(self, table: PendingTable) -> bool:
        """Whether every transaction is over that the stream does not tell of in time.

        Such wrote to the table before it was published, or are in the log and not yet visible.
        """
        fresh = table.filenode is None
        after_xid = max(self._after_xid, (table.after_xid or 0) if fresh else 0)
        if not after_xid:
            return True
        seen = Visibility.parse(self._session.snapshot_text(self._connection))
        if seen.xmin < after_xid:
            self._look_at = time.monotonic() + _LOOK_AGAIN_S
            return False
        self._after_xid = 0
        return True

    def _chunk(self, unit: Unit, table: PendingTable, first_load: str | None) -> Chunk:
        """The next pages; or every page, for rows that may have moved.

        A table that begins anew begins with no rows at all: what the stream has brought of it when
        the truncate event goes in must be seen by whatever is read then.
        Without a key a row that comes twice stands twice. So of a table without one only the rows
        that the first snapshot saw are read: the stream brings all others.
        """
        if table.anew:
            return Chunk(unit, 0, 0)
        conditions = [] if table.where is None else [bracketed(table.where)]
        seen = table.seen or first_load
        keyed = bool(unit.captured.schema.primary_key)
        if table.rescan and seen is not None:
            conditions.append(Visibility.parse(seen).may_be_unseen())
            return Chunk(unit, 0, None, " AND ".join(conditions))
        if not keyed and seen is not None:
            conditions.append(Visibility.parse(seen).sees_row())
        # A slow reading is cut into seconds, so that it is slow all the time and not by fits.
        rows = self._session.config.chunk_rows
        end = table.next_page + unit.pages_of(min(rows, self._limit(table) or rows))
        last = end >= unit.stored.pages
        condition = " AND ".join(conditions) or None
        return Chunk(unit, table.next_page, None if last else end, condition)

    def _emit(self, waiting: WaitingChunk, at: Place, max_events: int) -> Iterator[SourceBatch]:
        owed: SnapshotPlace | None = at.snapshot
        if owed is None:
            return iter(())
        rows, unit = waiting.rows(), waiting.chunk.unit
        begun = replace(owed.first, anew=False)
        after = waiting.chunk.after(begun, len(rows))
        keyed = bool(unit.captured.schema.primary_key)
        count = owed.first.rows_done + len(rows)
        if after is None and keyed and not owed.first.rescan:
            after = replace(begun, rescan=True, rows_done=count)
        elif after is None:
            self._progress.done(unit, owed.first, count)
        failpoint("source.postgres.backfill_placed")
        return chunk_batches(self._session, unit, rows, at, after, max_events)

    def _unit(self, oid: int) -> Unit | None:
        if oid not in self._units:
            with translated(self._session.where):
                self._session.roll.look()
                self._units = {unit.oid: unit for unit in self._session.units(self._connection)}
        return self._units.get(oid)

    def close(self) -> None:
        """Release the connection. Safe to call twice."""
        self._connection.close()


def _idle(place: Place) -> bool:
    """Whether there is nothing to read but the stream."""
    return place.snapshot is None or place.snapshot.idle
