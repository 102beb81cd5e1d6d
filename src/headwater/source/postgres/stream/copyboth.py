"""The stream's bytes as messages, in two ways with one face.

`SocketStream` speaks the protocol on the connection's socket itself: one system call brings as much
as has gathered, and a message costs two numbers. It needs a plain socket. `LibraryStream` asks
libpq for each message, which works everywhere and costs a block of memory and several calls per
message.
"""

from __future__ import annotations

import struct
from typing import Protocol

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import errors, pq

from headwater.errors import TransientError
from headwater.source.postgres.decode.pgoutput.wire import malformed
from headwater.source.postgres.server.plainsocket import HEAD, PlainSocket, is_plain, refusal
from headwater.source.postgres.server.skipped import Listener, heed

Numbers = npt.NDArray[np.int64]
Messages = tuple[bytes, Numbers, Numbers]
"""A buffer and where each message's content begins and ends in it."""

_READ_SIZE = 1024 * 1024
_LONGEST = 1 << 30
_PATIENCE_S = 10.0
_LENGTH = struct.Struct("!I")
_COPY_DATA, _COPY_DONE, _ERROR, _NOTICE, _COPY_BOTH = b"dcENW"


class CopyBoth(Protocol):
    """A stream of messages both ways, after a command that starts it."""

    def begin(self, command: str) -> None:
        """Start the stream; raises what the server refuses it with."""
        ...

    def pump(self, limit: int) -> int:
        """Take in what has arrived, up to about `limit` messages; returns how many there were."""
        ...

    def take(self) -> Messages:
        """The messages taken in since the last call, and forget them."""
        ...

    def send(self, content: bytes) -> None:
        """Send one message."""
        ...


def copy_both(connection: psycopg.Connection) -> CopyBoth:
    """The quicker way that the connection allows."""
    stream = SocketStream if is_plain(connection) else LibraryStream
    return stream(connection.pgconn)


class LibraryStream:
    """Messages through libpq, one call each."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._pgconn = pgconn
        self._listener = Listener(pgconn)
        self._messages: list[memoryview] = []

    def begin(self, command: str) -> None:
        """Start the stream."""
        result = self._pgconn.exec_(command.encode())
        if result.status != pq.ExecStatus.COPY_BOTH:
            raise errors.error_from_result(result)

    def pump(self, limit: int) -> int:
        """Take in what has arrived."""
        take, keep = self._pgconn.get_copy_data, self._messages.append
        before, count = len(self._messages), -1
        while count < len(self._messages) < before + limit:
            count = len(self._messages)
            self._pgconn.consume_input()
            length, data = take(1)
            while length > 0:
                keep(data)
                length, data = take(1)
            self._listener.check()
            if length < 0:
                self._ended()
        return len(self._messages) - before

    def _ended(self) -> None:
        result = self._pgconn.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            raise errors.error_from_result(result)
        raise TransientError("postgres-unreachable", "the server has ended the stream")

    def take(self) -> Messages:
        """The messages taken in."""
        messages, self._messages = self._messages, []
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        ends = np.cumsum(lengths)
        return b"".join(messages), ends - lengths, ends

    def send(self, content: bytes) -> None:
        """Send one message."""
        self._pgconn.put_copy_data(content)
        self._pgconn.flush()


class SocketStream:
    """Messages straight from the socket, as many at once as have gathered."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._socket = PlainSocket(pgconn)
        self._data = bytearray(_READ_SIZE)
        self._filled = 0
        self._parsed = 0
        self._starts: list[int] = []
        self._ends: list[int] = []

    def begin(self, command: str) -> None:
        """Start the stream."""
        self._socket.send(b"Q", command.encode() + b"\0")
        while True:
            if not self._receive():
                self._socket.wait(_PATIENCE_S)
            message = self._first()
            if message is None:
                continue
            tag, content = message
            if tag == _COPY_BOTH:
                return
            if tag == _ERROR:
                raise refusal(content)

    def _first(self) -> tuple[int, bytes] | None:
        """The next message alone, if it is there whole."""
        if self._filled - self._parsed < HEAD.size:
            return None
        (length,) = _LENGTH.unpack_from(self._data, self._parsed + 1)
        begin, end = self._parsed + HEAD.size, self._parsed + 1 + length
        if end > self._filled:
            return None
        tag, content = self._data[self._parsed], bytes(self._data[begin:end])
        self._parsed = end
        return tag, content

    def pump(self, limit: int) -> int:
        """Take in what has arrived."""
        before = len(self._starts)
        while len(self._starts) < before + limit and self._receive():
            self._parse()
        if len(self._starts) == before:
            self._parse()  # what came together with the answer to the command
        return len(self._starts) - before

    def _receive(self) -> int:
        if len(self._data) - self._filled < _READ_SIZE // 4:
            self._data += bytes(_READ_SIZE)
        with memoryview(self._data) as view:
            count = self._socket.receive_into(view[self._filled :])
        self._filled += count
        return count

    def _parse(self) -> None:
        """Find the messages that are there whole. Every other kind than data is rare."""
        data, place, filled = self._data, self._parsed, self._filled
        begin, finish, length_at = self._starts.append, self._ends.append, _LENGTH.unpack_from
        while place + 5 <= filled:
            (length,) = length_at(data, place + 1)
            end = place + 1 + length
            if end > filled:
                if not 4 <= length <= _LONGEST:
                    raise malformed("a message of impossible length")
                break
            if data[place] == _COPY_DATA:
                begin(place + 5)
                finish(end)
            else:
                self._other(data[place], bytes(data[place + 5 : end]))
            place = end
        self._parsed = place

    @staticmethod
    def _other(tag: int, content: bytes) -> None:
        """Most notices and settings are passed over; an error or an end is raised."""
        if tag == _ERROR:
            raise refusal(content)
        if tag == _NOTICE:
            heed(refusal(content))
        if tag == _COPY_DONE:
            raise TransientError("postgres-unreachable", "the server has ended the stream")

    def take(self) -> Messages:
        """The messages taken in."""
        buffer = bytes(memoryview(self._data)[: self._parsed])
        starts, ends = np.array(self._starts, np.int64), np.array(self._ends, np.int64)
        self._data[: self._filled - self._parsed] = self._data[self._parsed : self._filled]
        self._filled -= self._parsed
        self._parsed = 0
        self._starts, self._ends = [], []
        return buffer, starts, ends

    def send(self, content: bytes) -> None:
        """Send one message."""
        self._socket.send(b"d", content)
