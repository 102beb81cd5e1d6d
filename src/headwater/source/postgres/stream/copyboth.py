"""The stream's bytes as messages, in two ways with one face.

`SocketStream` speaks the protocol on the connection's socket itself: one system call brings as much
as has gathered, and a message costs two numbers. It needs a socket that is not encrypted by the
client library. `LibraryStream` asks libpq for each message, which works everywhere and costs a
block of memory and several calls per message.

Connecting, TLS and passwords are libpq's business in both: a socket is taken over only when the
connection stands and is idle, so that nothing of the stream can be in libpq's own buffer.
"""

from __future__ import annotations

import select
import socket
import struct
from typing import Protocol

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg import errors, pq

from headwater.errors import TransientError
from headwater.source.postgres.decode.pgoutput.wire import malformed

Numbers = npt.NDArray[np.int64]
Messages = tuple[bytes, Numbers, Numbers]
"""A buffer and where each message's content begins and ends in it."""

_READ_SIZE = 1024 * 1024
_LONGEST = 1 << 30
_SEND_PATIENCE_S = 10.0
_HEAD = struct.Struct("!cI")
_LENGTH = struct.Struct("!I")
_COPY_DATA, _COPY_DONE, _ERROR, _COPY_BOTH = b"dcEW"


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
    encrypted = connection.info.get_parameters().get("gssencmode", "disable") != "disable"
    if connection.pgconn.ssl_in_use or encrypted:
        return LibraryStream(connection.pgconn)
    return SocketStream(connection.pgconn)


class LibraryStream:
    """Messages through libpq, one call each."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._pgconn = pgconn
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
        self._socket = socket.socket(fileno=socket.dup(pgconn.socket))
        self._data = bytearray(_READ_SIZE)
        self._filled = 0
        self._parsed = 0
        self._starts: list[int] = []
        self._ends: list[int] = []

    def begin(self, command: str) -> None:
        """Start the stream."""
        self._write(b"Q", command.encode() + b"\0")
        while True:
            if not self._receive():
                select.select([self._socket], [], [], _SEND_PATIENCE_S)
            message = self._first()
            if message is None:
                continue
            tag, content = message
            if tag == _COPY_BOTH:
                return
            if tag == _ERROR:
                raise _refusal(content)

    def _first(self) -> tuple[int, bytes] | None:
        """The next message alone, if it is there whole."""
        if self._filled - self._parsed < _HEAD.size:
            return None
        (length,) = _LENGTH.unpack_from(self._data, self._parsed + 1)
        begin, end = self._parsed + _HEAD.size, self._parsed + 1 + length
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
        try:
            with memoryview(self._data) as view:
                count = self._socket.recv_into(view[self._filled :])
        except BlockingIOError:
            return 0
        except OSError as exc:
            raise TransientError("postgres-unreachable", f"the stream broke: {exc}") from exc
        if count == 0:
            raise TransientError("postgres-unreachable", "the server has closed the stream")
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
        """Notices and settings are passed over; an error or an end is raised."""
        if tag == _ERROR:
            raise _refusal(content)
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
        self._write(b"d", content)

    def _write(self, tag: bytes, content: bytes) -> None:
        left = memoryview(_HEAD.pack(tag, len(content) + 4) + content)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                _, ready, _ = select.select([], [self._socket], [], _SEND_PATIENCE_S)
                if not ready:
                    raise TransientError(
                        "postgres-unreachable", "the server takes nothing any more"
                    ) from None
            except OSError as exc:
                raise TransientError("postgres-unreachable", f"the stream broke: {exc}") from exc


def _refusal(content: bytes) -> psycopg.Error:
    """The server's error: fields of a letter and a text each, ended by a zero byte."""
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in content.split(b"\0")}
    state = fields.get(b"C", "XX000")
    try:
        kind: type[psycopg.Error] = errors.lookup(state)
    except KeyError:
        kind = psycopg.OperationalError
    return kind(fields.get(b"M", "the server gave no reason"))
