"""COPY … TO STDOUT as one block of bytes, in two ways with one outcome.

The driver's own cursor waits, allocates and checks once per row. So a plain socket is read in large
gulps, and only through an encrypted one libpq is asked for each row.
"""

from __future__ import annotations

import select
import time
from threading import local

import numpy as np
import psycopg
from psycopg import pq

from headwater.errors import DataError, TransientError
from headwater.source.postgres.decode.copyframes import is_whole, read_answer
from headwater.source.postgres.decode.spans import Block, gather
from headwater.source.postgres.server.plainsocket import PlainSocket, is_plain, refusal

_PATIENCE_S = 60.0
_READ_SIZE = 4 * 1024 * 1024
# A reader that wakes for each of the server's small writes makes it pay a switch for each.
_PAUSE_S = 0.001
_BULK = 64 * 1024
_MOST = 2**31 - 1
_KEEP_SIZE = 4 * _READ_SIZE


class _Kept(local):
    """Each reading thread's buffer: fresh memory for each chunk costs more than filling it."""

    def __init__(self) -> None:
        self.buffer = bytearray(_READ_SIZE)


_kept = _Kept()


def copy_out(connection: psycopg.Connection, query: str) -> Block:
    """The rows of a query in COPY's text form."""
    command = f"COPY ({query}) TO STDOUT".encode()
    if is_plain(connection):
        return _from_socket(connection.pgconn, command)
    return _through_library(connection.pgconn, command)


def _from_socket(pgconn: pq.abc.PGconn, command: bytes) -> Block:
    socket = PlainSocket(pgconn)
    try:
        socket.send(b"Q", command + b"\0")
        data = _answer(socket)
    finally:
        socket.close()
    answer = read_answer(np.frombuffer(data, np.uint8))
    if answer.error is not None:
        raise refusal(answer.error)
    rows = gather(data, answer.starts, answer.ends)
    return memoryview(rows.buffers()[2]) if len(rows) else b""


def _answer(socket: PlainSocket) -> memoryview:
    """Everything that the server says to one command."""
    data, filled = _kept.buffer, 0
    while not is_whole(data, filled):
        if len(data) - filled < _READ_SIZE // 4:
            data += bytes(len(data))
        with memoryview(data) as view:
            count = socket.receive_into(view[filled:])
        filled += count
        if filled > _MOST:
            raise DataError(
                "event-invalid",
                "the rows of one chunk pass 2 GiB",
                hint="set source.chunk_rows lower",
            )
        if count == 0:
            socket.wait(_PATIENCE_S)
            if filled > _BULK:
                time.sleep(_PAUSE_S)
    if len(data) > _KEEP_SIZE:
        _kept.buffer = bytearray(_READ_SIZE)
    return memoryview(data)[:filled]


def _through_library(pgconn: pq.abc.PGconn, command: bytes) -> Block:
    pgconn.send_query(command)
    _until_ready(pgconn)
    result = pgconn.get_result()
    if result is None or result.status != pq.ExecStatus.COPY_OUT:
        _finish(pgconn)
        raise _failure(result)
    rows: list[memoryview] = []
    length = 0
    while length >= 0:
        length, data = pgconn.get_copy_data(1)
        while length > 0:
            rows.append(data)
            length, data = pgconn.get_copy_data(1)
        if length == 0:
            _more(pgconn)
    block = b"".join(rows)
    result = pgconn.get_result()
    _finish(pgconn)
    if result is None or result.status != pq.ExecStatus.COMMAND_OK:
        raise _failure(result)
    return block


def _until_ready(pgconn: pq.abc.PGconn) -> None:
    while pgconn.flush():
        select.select([], [pgconn.socket], [], _PATIENCE_S)
    while pgconn.is_busy():
        _more(pgconn)


def _more(pgconn: pq.abc.PGconn) -> None:
    select.select([pgconn.socket], [], [], _PATIENCE_S)
    pgconn.consume_input()


def _finish(pgconn: pq.abc.PGconn) -> None:
    while pgconn.get_result() is not None:
        pass


def _failure(result: pq.abc.PGresult | None) -> Exception:
    if result is None:
        return TransientError("postgres-unreachable", "the connection is gone")
    return psycopg.errors.error_from_result(result)
