"""One opening of the source: its connections, what the catalog says, and the slot it reads."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import psycopg

from headwater.contract import OnGap, SourceBatch
from headwater.errors import ConfigError, GapError
from headwater.event import EventBatch, TableId
from headwater.failpoint import failpoint
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.events import restart_events
from headwater.source.postgres.place import PendingTable, Place
from headwater.source.postgres.roll import Roll
from headwater.source.postgres.server import slot
from headwater.source.postgres.server.catalog import TableFacts, require_tables
from headwater.source.postgres.server.connect import connect, place, translated
from headwater.source.postgres.server.facts import check_identity, check_server, read_server
from headwater.source.postgres.server.transport import Link, open_link
from headwater.source.postgres.server.typecatalog import Types
from headwater.source.postgres.server.watch import Watch
from headwater.source.postgres.shapes import Shapes, name_mark
from headwater.source.postgres.stream.assemble import Assembler
from headwater.source.postgres.stream.intake import Intake
from headwater.source.postgres.stream.peek import PeekReceiver
from headwater.source.postgres.stream.receive import Receiver
from headwater.source.postgres.stream.running import Stream
from headwater.source.postgres.stream.spool import Spool
from headwater.source.postgres.tables.chunk import Unit, stored_tables

_LOG = logging.getLogger("headwater.source.postgres")
# The newest that each server offers. What 3 and 4 add is off: see ADR 10.
_PROTOCOLS = ((160000, "4"), (150000, "3"), (140000, "2"))


@dataclass(frozen=True, slots=True)
class Opening:
    """Where the source stands, and what the log must be told before anything else."""

    place: Place
    batches: tuple[SourceBatch, ...] = ()


class Session:
    """Connections and knowledge from open to close."""

    def __init__(self, config: PostgresSourceConfig, uid: str) -> None:
        self.config = config
        self.uid = uid
        self.where = place(config)
        self._control = connect(config, "control")
        self._link: Link | None = None
        self._receiver: Intake | None = None
        self._spool = Spool(config.spool_directory)
        self._types = Types(self._control)
        self.roll = Roll(self._control, config)
        self._shapes = Shapes(config, self._types, self._facts_of)

    def prepare(self, resume: Place | None, met: GapError | None = None) -> Opening:
        """Look at server, tables, publication and slot; nothing is made before all is well.

        `met` is a gap that the stream came to after `resume`.
        """
        with translated(self.where):
            self._server = read_server(self._control, self.config)
            check_server(self._server)
            tables = require_tables(self._control, self.config)
            found = slot.settled_slot(self._control, self.config.slot)
            gap = None if resume is None else self._gap(tables, found, resume, met)
            if gap is not None and self.config.on_gap is OnGap.HALT:
                raise gap
            self.roll.enter(tables)
            if resume is None:
                return self._first(found)
            if gap is not None:
                return self._after_gap()
        failpoint("source.postgres.slot_checked")
        return self._resumed(replace(resume, timeline=self._server.timeline))

    def _gap(
        self,
        tables: tuple[TableFacts, ...],
        found: slot.SlotFacts | None,
        resume: Place,
        met: GapError | None,
    ) -> GapError | None:
        """Whether something is missing between the log's end and what the server will send."""
        try:
            check_identity(
                self._server, system=resume.system, timeline=resume.timeline, lsn=resume.lsn
            )
            if not resume.decided:
                slot.check_slot(found, self.config, self._server, resume.lsn)
                self.roll.check(tables, resume)
        except GapError as gap:
            return gap
        return None if resume.decided else met

    def _resumed(self, resume: Place) -> Opening:
        """Go on, with the rows owed of tables that the log does not know: no stream has them."""
        if resume.decided:
            return Opening(resume)
        begin = self.taken_up(resume)
        failpoint("source.postgres.tables_published")
        # Kept at once: a table that is no longer captured must not be taken for known later.
        return Opening(begin, () if begin == resume else (self.position_batch(begin),))

    def taken_up(self, at: Place) -> Place:
        """The place that knows every table, with all rows owed of those that it did not, as one."""
        unknown = self.roll.unknown(at)
        names = {known.name for known in at.known().values()}
        return self.roll.marked(at.owing(self._owed(unknown, names)) if unknown else at)

    def _first(self, found: slot.SlotFacts | None) -> Opening:
        """Nothing is in the log: say which slot it will be, before the slot is made.

        So a crash between the two leaves no slot behind that nobody dares to drop.
        """
        if found is not None:
            raise ConfigError(
                "postgres-slot-exists",
                f"slot {self.config.slot} exists, and the log does not know of it",
                where=self.where,
            )
        begin = self._fresh()
        return Opening(begin, (self.position_batch(begin),))

    def _fresh(self) -> Place:
        return Place(
            system=self._server.system_identifier,
            timeline=self._server.timeline,
            slot=self.config.slot,
            decided=True,
        )

    def _after_gap(self) -> Opening:
        """Begin anew behind a gap, as the policy says (INV-9)."""
        begin = self._fresh()
        if self.config.on_gap is OnGap.RESNAPSHOT:
            return Opening(begin, (self._restart(begin),))
        begin = replace(begin, accept=True)
        return Opening(begin, (self.position_batch(begin),))

    def _restart(self, begin: Place) -> SourceBatch:
        """The tables start over: what consumers hold of them is replaced by what follows."""
        captured = [self._shapes.of_table(facts) for facts in self.roll.tables]
        now_ms = time.time_ns() // 1_000_000
        events = restart_events(self.uid, captured, f"restart:{now_ms:x}", now_ms)
        return SourceBatch(events, begin.encode(), tuple(each.schema for each in captured))

    def position_batch(self, at: Place) -> SourceBatch:
        """A batch that only moves the position."""
        return SourceBatch(EventBatch.concat([]), at.encode(), owed=self.owed_at(at))

    def owed_at(self, at: Place) -> tuple[TableId, ...]:
        """The tables of which rows are still to come; of a partitioned one, as long as any part is.

        Rows that somebody asked for again are no load: the table has had them.
        """
        pending = () if at.snapshot is None else at.snapshot.pending
        numbers = {each.oid for each in pending if each.command is None}
        return tuple(
            facts.table
            for facts in self.roll.tables
            if numbers.intersection(facts.leaves or (facts.oid,))
        )

    def create_slot(self, decided: Place) -> tuple[Place, str | None]:
        """Make the slot anew; returns its first position and the snapshot exported with it."""
        if not self.config.create:
            raise ConfigError(
                "postgres-slot-missing", "the slot does not exist", where=self.config.slot
            )
        slot.drop_slot(self._control, self.config.slot)
        failpoint("source.postgres.before_slot")
        link = self._link = open_link(self.config)
        wanted = self.config.snapshot and not decided.accept
        begin = replace(decided, decided=False, accept=False)
        version = self._server.version_num
        if link.replication:
            created = slot.create_slot(link.connection, self.config, version)
            begin = replace(begin, lsn=created.consistent_lsn)
            snapshot_name = created.snapshot_name if wanted else None
        else:
            lsn = slot.create_slot_by_sql(link.connection, self.config, version)
            begin = replace(begin, lsn=lsn)
            begin, snapshot_name = self._owing_all(begin) if wanted else begin, None
        failpoint("source.postgres.slot_created")
        # A load marks the tables itself, when it holds them.
        return begin if snapshot_name else self.roll.marked(begin), snapshot_name

    def _owing_all(self, begin: Place) -> Place:
        """With the rows of every table owed: no snapshot came with the slot."""
        self.roll.look()
        return begin.owing(self._owed(self.roll.tables))

    def start_stream(self, begin: Place) -> Stream:
        """Read the slot from a place on."""
        link = self._link or open_link(self.config)
        self._link = None
        self._receiver = self._receiver_over(link)
        self._receiver.start(self.config.slot, begin.lsn, self._options(streaming=link.replication))
        failpoint("source.postgres.stream_started")
        wanted = self.config.wants_message
        assembler = Assembler(self.uid, self._shapes, self._spool, begin.marks(), wanted)
        return Stream(self._receiver, assembler, begin, self._server.wal_lsn)

    def _receiver_over(self, link: Link) -> Intake:
        if not link.replication:
            return PeekReceiver(link.connection, self.config, self._server)
        # While the reader is busy only the interval keeps the stream alive.
        patience_s = (self._server.wal_sender_timeout_ms or 60_000) / 1_000
        return Receiver(link.connection, min(self.config.status_interval_s, patience_s / 3))

    def _options(self, *, streaming: bool) -> dict[str, str]:
        version = self._server.version_num
        options = {"publication_names": self.config.publication, "messages": "true"}
        protocol = "1"
        # While a transaction runs, a message does not say in which part of it it stands: those that
        # went back to a savepoint could not be told from the rest.
        if streaming and self.config.streaming and not self.config.messages:
            protocol = next((newest for since, newest in _PROTOCOLS if version >= since), protocol)
            options["streaming"] = "on"
        return options | {"proto_version": protocol}

    def watch(self) -> Watch:
        """Someone to look after the slot."""
        return Watch(self._control, self.config, self._server)

    def with_new_tables(self, at: Place) -> Place:
        """Take up tables that came since, and owe their rows."""
        tables = self.roll.look()
        self.roll.check(tables, at)
        if self.roll.admit(tables):
            failpoint("source.postgres.tables_published")
        return self.taken_up(at)

    def _owed(
        self, tables: Sequence[TableFacts], names: Collection[str] = ()
    ) -> tuple[PendingTable, ...]:
        """Their rows, to be read when no transaction runs that may be missing in the stream.

        `names` are marks of names that the log has rows under.
        """
        keyless = [str(facts.table) for facts in tables if not facts.key]
        if keyless:
            _LOG.warning(
                "rows that are written to a table without a key before it is read stand twice",
                extra={"tables": keyless},
            )
        after_xid = self.beyond_running()
        return tuple(
            PendingTable(
                oid,
                after_xid=after_xid,
                anew=oid == facts.leaves[0] and name_mark(facts.table) in names,
            )
            for facts in tables
            for oid in facts.leaves
        )

    def beyond_running(self) -> int | None:
        """A number greater than that of any transaction so far; None where none is needed.

        The end of a snapshot is no such number: it leaves out those that began last. A standby
        shows commits in their order.
        """
        if self._server.in_recovery:
            return None
        row = self._control.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
        return None if row is None else int(row[0])

    def confirm(self, at: Place) -> None:
        """Everything before this place is durable."""
        if self._receiver is not None:
            self._receiver.confirm(at.lsn)

    def probe(self) -> None:
        """Ask the server how far it has come."""
        if self._receiver is not None:
            self._receiver.probe()

    def side_connection(self, purpose: str) -> psycopg.Connection:
        """One more ordinary connection."""
        return connect(self.config, purpose)

    def units(self, connection: psycopg.Connection) -> tuple[Unit, ...]:
        """The stored tables behind the captured ones, in the order in which they are read."""
        owners = {oid: facts for facts in self.roll.tables for oid in facts.leaves or (facts.oid,)}
        found = {stored.oid: stored for stored in stored_tables(connection, list(owners))}
        return tuple(
            Unit.of(found[oid], facts, self._shapes)
            for oid, facts in owners.items()
            if oid in found
        )

    def snapshot_text(self, connection: psycopg.Connection) -> str:
        """Which transactions the connection's snapshot sees."""
        row = connection.execute("SELECT pg_current_snapshot()::text").fetchone()
        return "0:0:" if row is None else str(row[0])

    def _facts_of(self, oid: int) -> TableFacts | None:
        """What the catalog says now: a relation message means that something may have changed."""
        with translated(self.where):
            return next((facts for facts in self.roll.look() if facts.oid == oid), None)

    def close(self) -> None:
        """Release everything. Safe to call twice."""
        if self._receiver is not None:
            self._receiver.stop()
            self._receiver = None
        self._spool.close()
        if self._link is not None:
            self._link.connection.close()
        self._control.close()
