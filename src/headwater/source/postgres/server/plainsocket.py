"""The socket under a connection, where libpq would cost a call and a block of memory per row.

Connecting, TLS and passwords are libpq's business. A socket is used directly only when the
connection stands and is idle, so that nothing is in libpq's own buffer, and only if the client
library does not encrypt it.
"""

from __future__ import annotations

import select
import socket
import struct

import psycopg
from psycopg import errors, pq

from headwater.errors import TransientError

HEAD = struct.Struct("!cI")
_PATIENCE_S = 10.0


def is_plain(connection: psycopg.Connection) -> bool:
    """Whether what the socket carries is the protocol itself."""
    encrypted = connection.info.get_parameters().get("gssencmode", "disable") != "disable"
    return not (connection.pgconn.ssl_in_use or encrypted)


class PlainSocket:
    """Sends messages, and receives whatever has gathered."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._socket = socket.socket(fileno=socket.dup(pgconn.socket))

    def wait(self, timeout_s: float) -> bool:
        """Whether something came within the time."""
        return bool(select.select([self._socket], [], [], timeout_s)[0])

    def receive_into(self, view: memoryview) -> int:
        """Take in what is there; 0 if nothing is."""
        try:
            count = self._socket.recv_into(view)
        except BlockingIOError:
            return 0
        except OSError as exc:
            raise TransientError("postgres-unreachable", f"the stream broke: {exc}") from exc
        if count == 0:
            raise TransientError("postgres-unreachable", "the server has closed the stream")
        return count

    def send(self, tag: bytes, content: bytes) -> None:
        """Send one message."""
        left = memoryview(HEAD.pack(tag, len(content) + 4) + content)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                _, ready, _ = select.select([], [self._socket], [], _PATIENCE_S)
                if not ready:
                    raise TransientError(
                        "postgres-unreachable", "the server takes nothing any more"
                    ) from None
            except OSError as exc:
                raise TransientError("postgres-unreachable", f"the stream broke: {exc}") from exc

    def close(self) -> None:
        """Let go of the socket; the connection keeps it."""
        self._socket.close()


def refusal(content: bytes) -> psycopg.Error:
    """The server's error: fields of a letter and a text each, ended by a zero byte."""
    fields = {part[:1]: part[1:].decode("utf-8", "replace") for part in content.split(b"\0")}
    state = fields.get(b"C", "XX000")
    try:
        kind: type[psycopg.Error] = errors.lookup(state)
    except KeyError:
        kind = psycopg.OperationalError
    return kind(fields.get(b"M", "the server gave no reason"))
