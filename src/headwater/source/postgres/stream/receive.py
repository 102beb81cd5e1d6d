"""The stream's socket, read in gulps by a thread of its own.

The server sends one message per system call, and a reader that wakes for each makes it pay a switch
for each. So on a backlog the thread pauses and lets bytes gather; near the head it does not pause.
The thread also answers the server on time, whatever the rest of the process is busy with: a slow
disk or a long snapshot never lets the server give the stream up.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from threading import Event, Thread
from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import errors

from headwater.errors import GapError, TransientError
from headwater.failpoint import failpoint
from headwater.source.postgres.lsn import format_lsn
from headwater.source.postgres.server import publication
from headwater.source.postgres.server.connect import translated
from headwater.source.postgres.stream.copyboth import copy_both
from headwater.source.postgres.stream.mailbox import GULP_MESSAGES, Gulp, Mailbox

_RECEIVE_BUFFER = 2 * 1024 * 1024
# More messages than this within one pause mean a backlog: let more gather before the next pass.
_BACKLOG_MESSAGES = 100
_PAUSE_S = 0.010
_WAKE_S = 0.5

_DATA, _KEEPALIVE = ord("w"), ord("k")
_DATA_HEADER = 25  # tag, start, end, time
_STATUS = struct.Struct(">cQQQqB")
_EPOCH_2000_S = 946_684_800

Numbers = npt.NDArray[np.int64]


class _Pace:
    """Whether a backlog is being read, judged by what came within about one pause.

    A single look cannot tell: a quick reader finds a message or two at a time, however many wait.
    """

    def __init__(self) -> None:
        self.backlog = False
        self._since = 0.0
        self._count = 0

    def note(self, found: int) -> None:
        """A pass found so many messages."""
        now = time.monotonic()
        self._count += found
        if self._count >= _BACKLOG_MESSAGES:
            self.backlog = True
        elif now - self._since >= _PAUSE_S:
            self.backlog = False
        if now - self._since >= _PAUSE_S:
            self._since, self._count = now, 0


class Receiver:
    """Streams from a slot. One thread owns the connection; the source's thread takes the gulps."""

    def __init__(self, connection: psycopg.Connection[Any], status_interval_s: float) -> None:
        self._connection = connection
        self._descriptor = connection.pgconn.socket
        self._stream = copy_both(connection)
        self._status_interval_s = status_interval_s
        self._gulps = Mailbox()
        self._stop = Event()
        self._received = 0
        self._confirmed = 0
        self._asking = False
        self._publication = ""
        self._pace = _Pace()
        self._told = (0, 0)
        self._told_at = 0.0
        self._waker, self._woken = socket.socketpair()
        self._waker.settimeout(0)
        self._thread = Thread(target=self._run, name="headwater-postgres-receiver", daemon=True)

    def start(self, slot: str, lsn: int, options: Mapping[str, str]) -> None:
        """Begin streaming at `lsn`. The server itself never goes below what it has confirmed."""
        given = ", ".join(f"{name} '{value}'" for name, value in options.items())
        command = f'START_REPLICATION SLOT "{slot}" LOGICAL {format_lsn(lsn)} ({given})'
        self._publication = options["publication_names"]
        self._widen()
        with translated(slot):
            try:
                self._stream.begin(command)
            except errors.UndefinedObject as exc:
                raise GapError("postgres-slot-missing", str(exc).strip(), where=slot) from exc
        self._received = self._confirmed = lsn
        self._thread.start()

    def _widen(self) -> None:
        """The kernel must be able to hold what gathers during a pause."""
        with socket.socket(fileno=socket.dup(self._descriptor)) as handle:
            handle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)

    def take(self, timeout_s: float) -> Gulp | None:
        """Everything that waits, as one gulp; None if nothing came within the time."""
        gulp = self._gulps.take(timeout_s)
        if gulp is None and not self._thread.is_alive() and not self._stop.is_set():
            raise TransientError("postgres-unreachable", "the stream has ended")
        return gulp

    def confirm(self, lsn: int) -> None:
        """Let the server forget everything before `lsn` (INV-2); told with the next status."""
        self._confirmed = max(self._confirmed, lsn)

    def probe(self) -> None:
        """Ask the server to say how far it has come; the answer arrives as a gulp."""
        self._asking = True
        self._wake()

    def _wake(self) -> None:
        """End the receiver's waiting. On a backlog it does not wait, and nobody takes the bytes."""
        with suppress(BlockingIOError):
            self._waker.send(b"x")

    def stop(self) -> None:
        """Say what is confirmed and end the stream. Safe to call twice."""
        if not self._stop.is_set():
            self._stop.set()
            self._wake()
        if self._thread.is_alive():
            self._thread.join()
        self._connection.close()
        self._waker.close()
        self._woken.close()

    def _run(self) -> None:
        try:
            with translated():
                try:
                    self._receive()
                except errors.UndefinedObject as exc:
                    raise publication.gone(exc, self._publication) from exc
        except BaseException as exc:  # noqa: BLE001 - handed to the thread that reads
            self._gulps.fail(exc)

    def _receive(self) -> None:
        while not self._stop.is_set():
            gulp = self._gather()
            if gulp is not None:
                self._put(gulp)
                failpoint("source.postgres.gulp_received")
        self._tell(reply=False)

    def _gather(self) -> Gulp | None:
        """Messages until the head is reached or the gulp is full; waits for the first one."""
        count = 0
        while not self._stop.is_set():
            self._tell_if_due()
            found = self._stream.pump(GULP_MESSAGES)
            count += found
            self._pace.note(found)
            if count >= GULP_MESSAGES:
                break
            if self._pace.backlog:
                time.sleep(_PAUSE_S)
            elif count:
                break
            else:
                self._wait()
        return self._gulp(*self._stream.take()) if count else None

    def _gulp(self, buffer: bytes, starts: Numbers, ends: Numbers) -> Gulp:
        """Data and keepalives apart; a keepalive that asks for an answer gets it."""
        tags = np.frombuffer(buffer, np.uint8)[starts]
        alive = starts[tags == _KEEPALIVE]
        reached = max((int.from_bytes(buffer[at + 1 : at + 9], "big") for at in alive), default=0)
        self._received = max(self._received, reached)
        if any(buffer[at + 17] for at in alive):
            self._tell(reply=False)
        data = tags == _DATA
        return Gulp(buffer, starts[data] + _DATA_HEADER, ends[data], reached)

    def _wait(self) -> None:
        due = self._told_at + self._status_interval_s - time.monotonic()
        readable = [self._descriptor, self._woken.fileno()]
        found, _, _ = select.select(readable, [], [], max(0.0, min(due, _WAKE_S)))
        if self._woken.fileno() in found:
            self._woken.recv(64)

    def _put(self, gulp: Gulp) -> None:
        """Hand over; while the reader is busy, go on telling the server that we live."""
        while not self._stop.is_set() and not self._gulps.put(gulp, _WAKE_S):
            self._tell_if_due()

    def _tell_if_due(self) -> None:
        if self._asking:
            self._asking = False
            self._tell(reply=True)
            return
        moved = self._told != (self._received, self._confirmed)
        since = time.monotonic() - self._told_at
        if since >= self._status_interval_s or (moved and since >= _WAKE_S):
            self._tell(reply=False)

    def _tell(self, *, reply: bool) -> None:
        """A status: received so far, and what may be forgotten."""
        received, confirmed = max(self._received, self._confirmed), self._confirmed
        now_us = int((time.time() - _EPOCH_2000_S) * 1_000_000)
        self._stream.send(_STATUS.pack(b"r", received, confirmed, confirmed, now_us, reply))
        self._told, self._told_at = (self._received, self._confirmed), time.monotonic()
        failpoint("source.postgres.status_told")
