"""One opening of the source: where it stands, and what each look at the database shows."""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from dataclasses import dataclass, replace

from headwater.contract import OnGap, Phase, SnapshotProgress, SourceBatch
from headwater.errors import GapError
from headwater.event import EventBatch, Position, TableSchema
from headwater.failpoint import failpoint
from headwater.source.sqlite import changes, notices
from headwater.source.sqlite.catalog import Catalog
from headwater.source.sqlite.config import SqliteSourceConfig
from headwater.source.sqlite.connect import snapshot
from headwater.source.sqlite.events import Chunk, Group, change_batch, snapshot_batch
from headwater.source.sqlite.follow import Follower
from headwater.source.sqlite.generation import Generation, Trust
from headwater.source.sqlite.place import PendingTable, Place
from headwater.source.sqlite.snapshot import count_rows, read_chunk


@dataclass(frozen=True, slots=True)
class _Open:
    """A commit group that is being read: everything that was newly visible in one look."""

    until: int
    tx_id: int
    events: int


class Session:
    """Stands at a place. What a look shows goes to `queue`, in order."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        config: SqliteSourceConfig,
        uid: str,
        resume: Position | None,
    ) -> None:
        """Called within a read transaction; a gap since `resume` meets the policy (INV-9)."""
        self.queue: deque[SourceBatch] = deque()
        self._db = connection
        self._config = config
        self._uid = uid
        self._group: _Open | None = None
        self._reader = changes.ChangeReader(connection)
        self._follower = Follower(connection, config)
        if resume is None:
            self._place = self._fresh(config.snapshot)
        else:
            self._place = Place.decode(resume)
            self._check_gap()

    @property
    def _catalog(self) -> Catalog:
        return self._follower.catalog

    def _fresh(self, with_rows: bool) -> Place:  # noqa: FBT001 - a private step of open
        """The beginning: every wanted table's rows, then the changes from now on."""
        tables = self._catalog.active() if with_rows else ()
        return Place(
            change_id=changes.newest(self._db),
            generation=self._catalog.newest_generation,
            snapshot_id=f"{_now_ms():x}",
            pending=tuple(PendingTable(generation.capture_no) for generation in tables),
        )

    def _check_gap(self) -> None:
        newest = changes.newest(self._db)
        following = changes.oldest_after(self._db, self._place.change_id)
        if newest < self._place.change_id:
            self._gap(
                f"the database ends at change {newest}, before change {self._place.change_id} that "
                "the log holds: it was replaced or restored"
            )
        elif following is not None and following > self._place.change_id + 1:
            self._gap(f"changes {self._place.change_id + 1} to {following - 1} are gone")

    def _gap(self, reason: str) -> None:
        match self._config.on_gap:
            case OnGap.HALT:
                raise GapError("source-gap", reason, where=str(self._config.path))
            case OnGap.ACCEPT:
                self._place = self._fresh(with_rows=False)
                # The decision must last: without new changes no other batch would carry it.
                self._hand_on(EventBatch.concat([]))
            case OnGap.RESNAPSHOT:
                self._place = self._fresh(with_rows=True)
                schemas = [self._catalog.schemas[g.capture_no] for g in self._catalog.active()]
                restart = f"restart:{self._place.snapshot_id}"
                events = notices.truncates(self._uid, schemas, restart, _now_ms())
                self._hand_on(events, tuple(schemas))

    def _hand_on(
        self,
        events: EventBatch,
        schemas: tuple[TableSchema, ...] = (),
        progress: SnapshotProgress | None = None,
    ) -> None:
        """A batch that leaves the source at its place."""
        known = self._catalog.schemas
        pending = (each.capture_no for each in self._place.pending)
        owed = tuple(known[number].table for number in pending if number in known)
        phase = Phase.STREAM if progress is None else Phase.SNAPSHOT
        self.queue.append(SourceBatch(events, self._place.encode(), schemas, phase, progress, owed))

    def look(self, max_events: int) -> bool:
        """One look at the database: whatever it shows goes to the queue, in order.

        True if capture had to follow the schema: there is more to see at once.
        """
        with snapshot(self._db):
            stale = self._schema_moved()
            newest = changes.newest(self._db)
            coming = self._catalog.next_generation(self._place.generation)
            until = newest if coming is None else min(newest, coming.created_change_id)
            if self._group is None and until > self._place.change_id:
                self._group = _Open(until, self._place.change_id + 1, 0)
            if self._group is not None:
                self._read_piece(max_events)
            failpoint("source.sqlite.changes_read")
            if self._group is None:
                if coming is not None and self._place.change_id >= coming.created_change_id:
                    self._adopt(coming)
                elif self._place.pending and not stale and self._place.change_id == newest:
                    self._read_chunk(min(max_events, self._config.chunk_rows))
        renew = stale and self._group is None and not self.queue
        if renew:
            self._follower.renew()
        return renew

    def _read_piece(self, max_events: int) -> None:
        """The next part of the open group; the last part closes it (INV-7)."""
        group = self._group
        if group is None:
            return
        end = changes.end_of_piece(self._db, self._place.change_id, group.until, max_events)
        closes = end == group.until
        rows = self._reader.read(self._place.change_id, end, self._catalog.schemas, group.until)
        total = len(rows) if closes and group.events == 0 else None
        events = change_batch(
            self._uid,
            rows,
            self._catalog.schemas,
            Group(group.tx_id, group.events, total),
            closes_transaction=closes,
        )
        used = tuple(self._catalog.schemas[number] for number in set(rows.capture_nos))
        self._place = replace(self._place, change_id=end)
        self._group = None if closes else replace(group, events=group.events + len(rows))
        if closes:
            self._reader.forget_context()
        self._hand_on(events, used)

    def _read_chunk(self, limit: int) -> None:
        """The next rows of the first pending table, as they stand at this look."""
        pending = self._place.pending[0]
        generation = self._catalog.generation(pending.capture_no)
        table = None if generation is None else self._catalog.table(generation)
        if generation is None or table is None or generation.retired_change_id is not None:
            # The table was renewed or dropped meanwhile; its new generation brings its own rows.
            self._place = self._place.with_first(None)
            self._hand_on(EventBatch.concat([]))
            return
        if pending.after is None:
            pending = replace(pending, rows_total=count_rows(self._db, table))
        schema = self._catalog.schemas[pending.capture_no]
        rows = read_chunk(self._db, table, schema, pending, limit)
        failpoint("source.sqlite.chunk_read")
        chunk = Chunk(
            snapshot_id=self._place.snapshot_id,
            chunk_index=self._place.chunk_index,
            first_row=pending.rows_done,
            is_last=rows.next is None and len(self._place.pending) == 1,
            ts_ms=_now_ms(),
        )
        events = snapshot_batch(self._uid, rows.images, schema, pending.capture_no, chunk)
        done = pending.rows_done + len(rows.images)
        self._place = self._place.with_first(rows.next)
        progress = SnapshotProgress(
            table=str(schema.table),
            rows_done=done,
            rows_total=pending.rows_total,
            done=rows.next is None,
            rows_left=self._place.rows_left,
        )
        self._hand_on(events, (schema,), progress)

    def _schema_moved(self) -> bool:
        """Whether the schema has moved in a way that capture must follow."""
        if self._follower.moved() and not self._follower.must_renew:
            self._restart_if_renumbered()
        return self._follower.must_renew

    def _restart_if_renumbered(self) -> None:
        """VACUUM changes the cookie too, and may number anew the rows that have no key of ours.

        The table is then read again under a new snapshot id, so that no event id comes twice.
        """
        if not self._place.pending or self._place.pending[0].after is None:
            return
        generation = self._catalog.generation(self._place.pending[0].capture_no)
        table = None if generation is None else self._catalog.table(generation)
        if table is not None and table.rowid_name is not None and (table.rowid_name,) != table.key:
            first = PendingTable(self._place.pending[0].capture_no)
            self._place = replace(
                self._place,
                pending=(first, *self._place.pending[1:]),
                snapshot_id=f"{_now_ms():x}",
                chunk_index=0,
            )

    def _adopt(self, generation: Generation) -> None:
        """Begin to use a new generation: tell its shape, and read its rows where need be."""
        self._place = replace(self._place, generation=generation.capture_no)
        schema = self._catalog.schemas.get(generation.capture_no)
        if schema is None or generation.retired_change_id is not None:
            self._hand_on(EventBatch.concat([]))
            return
        broken = generation.trust is Trust.BROKEN
        if broken and self._config.on_gap is OnGap.HALT:
            raise GapError(
                "source-gap",
                f"table {generation.table!r} was rebuilt or went unwatched: changes are missing",
                where=str(self._config.path),
            )
        statement = notices.statement_of(self._db, generation.table)
        told = [notices.schema_change(self._uid, generation, schema, statement, _now_ms())]
        if broken and self._config.on_gap is OnGap.RESNAPSHOT:
            reason = f"rebuilt:{generation.capture_no}"
            told.append(notices.truncates(self._uid, [schema], reason, _now_ms()))
        if not broken or self._config.on_gap is OnGap.RESNAPSHOT:
            self._add_pending(generation)
        events = EventBatch.concat(told)
        self._hand_on(events, (schema,))

    def _add_pending(self, generation: Generation) -> None:
        fresh_id = self._place.snapshot_id if self._place.pending else f"{_now_ms():x}"
        chunk = self._place.chunk_index if self._place.pending else 0
        pending = (*self._place.pending, PendingTable(generation.capture_no))
        self._place = replace(self._place, pending=pending, snapshot_id=fresh_id, chunk_index=chunk)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
