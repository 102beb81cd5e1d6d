"""PostgresSource: the loop's view of a PostgreSQL database."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping

from headwater.contract import Command, OnGap, Owed, SourceBatch, SourceCapabilities, SourceIdentity
from headwater.errors import GapError, StateError, TransientError
from headwater.event import Position
from headwater.failpoint import failpoint
from headwater.source.postgres.backfill import Backfill
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.events import SOURCE_NAME
from headwater.source.postgres.load import InitialLoad
from headwater.source.postgres.place import Place
from headwater.source.postgres.server.connect import connect, place, translated
from headwater.source.postgres.server.facts import read_server
from headwater.source.postgres.server.watch import Watch
from headwater.source.postgres.session import Session
from headwater.source.postgres.stream.running import Stream

_POLL_S = 0.05


class PostgresSource:
    """Captures a PostgreSQL database by logical replication. Implements contract.Source.

    Delivery: every committed change of the captured tables, in commit order, whole transactions, at
    least once; the log's atomic append makes it exactly once.

    A first run goes through three stages: the decision to use the slot is made durable, then the
    slot is made and the tables are read at the very position where it begins, then the stream runs.
    A run that was cut off while tables were read goes on with the stream, and reads the rest of the
    rows beside it.
    """

    def __init__(self, config: PostgresSourceConfig) -> None:
        self._config = config
        self._identity: SourceIdentity | None = None
        self._session: Session | None = None
        self._load: InitialLoad | None = None
        self._stream: Stream | None = None
        self._backfill: Backfill | None = None
        self._queue: deque[SourceBatch] = deque()
        self._place: Place | None = None
        self._decided = False
        self._gap: GapError | None = None
        self._watch: Watch | None = None
        self._gauges: Mapping[str, float] = {}

    @property
    def capabilities(self) -> SourceCapabilities:
        """What logical replication can see."""
        return SourceCapabilities(
            snapshot=True,
            resumable_snapshot=True,
            before_image=True,
            truncate=True,
            schema_changes=True,
            context=True,
            exact_transactions=True,
            backfill=True,
            reread=True,
        )

    @property
    def identity(self) -> SourceIdentity:
        """The cluster's own identifier and the database: the same after a restart or a failover."""
        if self._identity is None:
            with connect(self._config, "identity") as connection, translated(place(self._config)):
                facts = read_server(connection, self._config)
            uid = f"{facts.system_identifier}/{facts.database}"
            self._identity = SourceIdentity(SOURCE_NAME, uid)
        return self._identity

    def open(self, resume: Position | None) -> None:
        """Stand at `resume`; a gap since then is met with the chosen policy (INV-9)."""
        self.close()
        self._session = Session(self._config, self.identity.uid)
        try:
            gap, self._gap = self._gap, None
            opening = self._session.prepare(None if resume is None else Place.decode(resume), gap)
            self._place = opening.place
            self._queue.extend(opening.batches)
            # A decision that came out of the log is durable; one made just now is not yet.
            self._decided = not opening.batches
            if not self._place.decided:
                self._begin_stream(self._place)
        except BaseException:
            self.close()
            raise

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        """The next changes or snapshot rows; waits for them until the time is over."""
        if self._queue:
            return self._queue.popleft()
        session, here = self._opened()
        if here.decided:
            if not self._decided:  # the log has not kept the decision yet
                time.sleep(min(timeout_s, _POLL_S))
                return None
            self._begin(session, here)
        try:
            with translated(session.where):
                return self._next(max_events, timeout_s)
        except GapError as gap:
            if self._config.on_gap is OnGap.HALT:
                raise
            # Met by opening anew, which cuts off what the log has of an unfinished transaction.
            self._gap = gap
            raise TransientError(gap.code, gap.message, where=gap.where) from gap

    def _begin(self, session: Session, decided: Place) -> None:
        """Make the slot, and start reading the tables at its first position."""
        begin, snapshot_name = session.create_slot(decided)
        self._place = begin
        if snapshot_name is not None:
            self._load = InitialLoad(session, begin, snapshot_name)
        else:
            self._begin_stream(begin)
        if self._load is None or self._load.place.snapshot is None:
            self._queue.append(session.position_batch(begin))

    def _next(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        if self._queue:
            return self._queue.popleft()
        if self._load is not None:
            batch = self._load.read(max_events)
            if batch is not None:
                return batch
            done = self._load.place
            self._load.close()
            self._load = None
            self._begin_stream(done)
        return self._next_of_stream(max_events, timeout_s)

    def _next_of_stream(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        session, _ = self._opened()
        stream = self._stream
        if stream is None:
            raise StateError("lifecycle-transition", "the source is not open")
        self._look_after(session, stream)
        if stream.place.snapshot is None:
            return stream.read(max_events, timeout_s, None)
        return self._filling(session).read(stream, max_events, timeout_s)

    def _filling(self, session: Session) -> Backfill:
        if self._backfill is None:
            self._backfill = Backfill(session)
        return self._backfill

    def take(self, command: Command) -> SourceBatch | None:
        """Take a command about owed rows. A first load is finished before."""
        session, _ = self._opened()
        stream = self._stream
        if stream is None or self._queue:
            return None
        self._filling(session).take(stream, command)
        failpoint("source.postgres.command_taken")
        return session.position_batch(stream.place)

    def owed(self) -> tuple[Owed, ...]:
        """What is read beside the stream, and what was lately done."""
        stream = self._stream
        if stream is None or (self._backfill is None and stream.place.snapshot is None):
            return ()
        session, _ = self._opened()
        return self._filling(session).owed(stream)

    def _look_after(self, session: Session, stream: Stream) -> None:
        if self._watch is None or not self._watch.due():
            return
        seen = self._watch.look(stream.place.lsn)
        self._gauges = seen.gauges
        if seen.tables_changed:
            stream.place = session.with_new_tables(stream.place)

    def gauges(self) -> Mapping[str, float]:
        """How far the server is ahead, and how much log it keeps for us."""
        return self._gauges

    def _begin_stream(self, begin: Place) -> None:
        session, _ = self._opened()
        self._stream = session.start_stream(begin)
        self._watch = session.watch()

    def _opened(self) -> tuple[Session, Place]:
        if self._session is None or self._place is None:
            raise StateError("lifecycle-transition", "the source is not open")
        return self._session, self._place

    def confirm(self, position: Position) -> None:
        """Let the server forget what the log holds (INV-2)."""
        self._decided = True
        if self._session is not None:
            self._session.confirm(Place.decode(position))

    def close(self) -> None:
        """Release every connection. Safe to call twice."""
        self._queue.clear()
        for part in (self._load, self._backfill, self._session):
            if part is not None:
                part.close()
        self._load = self._backfill = self._session = self._stream = self._watch = None
