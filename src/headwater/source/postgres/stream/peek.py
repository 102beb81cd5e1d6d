"""The stream where no replication connection can be had: the slot is looked at again and again.

Each look takes the changes up to a position, in SQL on an ordinary connection, and leaves the slot
where it is. It begins where the slot was confirmed, so it shows again what was handed on and is not
durable yet: always the first part of it, and left out by the commits' positions. A look is bounded
by how far it reads the log, not by a number of changes; so each one gets further, whatever the
reader has confirmed meanwhile. Transactions in progress are not asked for: every look would bring
them from their beginning.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from threading import Event, Thread

import numpy as np
import psycopg
from psycopg import errors, pq

from headwater.errors import GapError, TransientError
from headwater.failpoint import failpoint
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.lsn import format_lsn, parse_lsn
from headwater.source.postgres.names import literal
from headwater.source.postgres.server import publication
from headwater.source.postgres.server.connect import translated
from headwater.source.postgres.server.facts import ServerFacts
from headwater.source.postgres.server.skipped import Listener
from headwater.source.postgres.server.slot import check_slot, read_slot
from headwater.source.postgres.stream.copyout import Arrived, copied
from headwater.source.postgres.stream.mailbox import GULP_MESSAGES, Gulp, Mailbox
from headwater.source.postgres.stream.repeated import Repeated

_STEP_BYTES = 16 * 1024 * 1024
_GULP_BYTES = 4 * 1024 * 1024
_POLL_S = 0.05
_LONGEST_REST_S = 1.0
_TELL_S = 0.5
_WAKE_S = 0.5
_PATIENCE_S = 2.0

_HEAD = """
SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
             ELSE pg_current_wal_flush_lsn() END)::text
"""
_ADVANCE = """
SELECT pg_replication_slot_advance(slot_name, %(lsn)s::pg_lsn) FROM pg_replication_slots
WHERE slot_name = %(slot)s AND confirmed_flush_lsn < %(lsn)s::pg_lsn
"""
# The subquery runs when the first row is there, and the rows are there when the slot was read: so
# the look began at that position or before.
_LOOK = """
SELECT (SELECT coalesce(max(confirmed_flush_lsn), 'FFFFFFFF/FFFFFFFF')
        FROM pg_replication_slots WHERE slot_name = {slot}), data
FROM pg_logical_slot_peek_binary_changes({slot}, {until}, NULL, {options})
"""
_POSITION_AT = 6  # after the number of columns and this one's length
_DATA_AT = 18

_NOTHING = np.empty(0, np.int64)


class PeekReceiver:
    """Reads a slot by SQL. One thread owns the connection; the source's thread takes the gulps."""

    def __init__(
        self, connection: psycopg.Connection, config: PostgresSourceConfig, server: ServerFacts
    ) -> None:
        self._connection = connection
        self._listener = Listener(connection.pgconn)
        self._config = config
        self._server = server
        self._gulps = Mailbox()
        self._stop = Event()
        self._wake = Event()
        self._asking = False
        self._slot = self._options = ""
        self._repeated = Repeated(0)
        self._reached = self._confirmed = self._told = 0
        self._told_at = 0.0
        self._thread = Thread(target=self._run, name="headwater-postgres-peek", daemon=True)

    def start(self, slot: str, lsn: int, options: Mapping[str, str]) -> None:
        """Begin at `lsn`: the first look finds the slot moved there, for want of a beginning."""
        self._slot = slot
        self._options = ", ".join(literal(text) for pair in options.items() for text in pair)
        self._repeated = Repeated(lsn)
        self._reached = self._confirmed = lsn
        self._thread.start()

    def take(self, timeout_s: float) -> Gulp | None:
        """Everything that waits, as one gulp; None if nothing came within the time."""
        gulp = self._gulps.take(timeout_s)
        if gulp is None and not self._thread.is_alive() and not self._stop.is_set():
            raise TransientError("postgres-unreachable", "the stream has ended")
        return gulp

    def confirm(self, lsn: int) -> None:
        """Let the server forget everything before `lsn` (INV-2); told before the next look."""
        self._confirmed = max(self._confirmed, lsn)

    def probe(self) -> None:
        """Look now; the answer arrives as a gulp."""
        self._asking = True
        self._wake.set()

    def stop(self) -> None:
        """Say what is confirmed and end. Safe to call twice."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():  # the server is busy for us: it need not be
            self._connection.cancel_safe(timeout=_PATIENCE_S)
            self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        try:
            with translated(self._slot):
                while not self._stop.is_set():
                    self._turn()
                if self._idle:
                    self._advance()
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that reads
            self._gulps.fail(exc)

    @property
    def _idle(self) -> bool:
        return self._connection.info.transaction_status is pq.TransactionStatus.IDLE

    def _turn(self) -> None:
        """Look if the server's log has grown; then let it rest for as long as the look took."""
        began = time.monotonic()
        head = self._head()
        until = min(head, self._reached + _STEP_BYTES)
        if until > self._reached:
            self._look(until)
        self._answer()
        if until >= head:
            took_s = time.monotonic() - began
            self._wake.wait(min(max(took_s, _POLL_S), _LONGEST_REST_S))
            self._wake.clear()
        if time.monotonic() - self._told_at >= _TELL_S:
            self._advance()

    def _head(self) -> int:
        row = self._connection.execute(_HEAD).fetchone()
        return parse_lsn(row[0]) if row is not None and row[0] is not None else 0

    def _look(self, until: int) -> None:
        """Hand on what commits before `until` and was not handed on before."""
        self._advance()  # always: what the log holds from an earlier process must not be shown
        self._check()
        try:
            if not self._pass_on(until):
                return
        except errors.UndefinedObject as exc:
            if self._idle:
                self._check()  # it may be the slot that is gone
            raise publication.gone(exc, self._config.publication) from exc
        self._check()
        self._reached = until
        self._put(Gulp(b"", _NOTHING, _NOTHING, until))
        failpoint("source.postgres.peeked")

    def _check(self) -> None:
        """Nobody else may have read the slot, or dropped it (INV-9)."""
        found = read_slot(self._connection, self._slot)
        check_slot(found, self._config, self._server, self._confirmed)

    def _pass_on(self, until: int) -> bool:
        """Hand on while rows arrive; False if it was ended before all of them were here."""
        slot, options = literal(self._slot), self._options
        query = _LOOK.format(slot=slot, until=literal(format_lsn(until)), options=options)
        rows: Arrived = []
        size = 0
        self._repeated.look_again()
        with closing(copied(self._connection, query)) as arriving:
            for arrived in arriving:
                if self._stop.is_set():
                    return False
                self._answer()
                rows += arrived
                size += sum(map(len, arrived))
                if len(rows) >= GULP_MESSAGES or size >= _GULP_BYTES:
                    self._hand_on(rows)
                    rows, size = [], 0
        self._hand_on(rows)
        return True

    def _hand_on(self, rows: Arrived) -> None:
        self._listener.check()
        if not rows:
            return
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        ends = np.cumsum(lengths)
        buffer, starts = b"".join(rows), ends - lengths + _DATA_AT
        self._check_position(buffer)
        first = self._repeated.first_new(buffer, starts)
        if first < len(starts):
            self._put(Gulp(buffer, starts[first:], ends[first:], 0))
            failpoint("source.postgres.peek_handed_on")

    def _check_position(self, buffer: bytes) -> None:
        began = int.from_bytes(buffer[_POSITION_AT : _POSITION_AT + 8], "big")
        if began > self._confirmed:
            raise GapError(
                "source-gap",
                f"somebody else has read the slot up to {format_lsn(began)}, and the log holds "
                f"changes only up to {format_lsn(self._confirmed)}",
                where=self._slot,
            )

    def _put(self, gulp: Gulp) -> None:
        while not self._stop.is_set() and not self._gulps.put(gulp, _WAKE_S):
            pass

    def _answer(self) -> None:
        if self._asking:
            self._asking = False
            self._put(Gulp(b"", _NOTHING, _NOTHING, self._reached))

    def _advance(self) -> None:
        """Move the slot to where the log stands."""
        lsn = self._confirmed
        if lsn > self._told:
            given = {"slot": self._slot, "lsn": format_lsn(lsn)}
            self._connection.execute(_ADVANCE, given)
            self._told, self._told_at = lsn, time.monotonic()
            failpoint("source.postgres.slot_advanced")
