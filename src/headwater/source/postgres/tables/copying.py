"""COPY … TO STDOUT as one block of bytes."""

from __future__ import annotations

import select

import psycopg
from psycopg import pq

from headwater.errors import TransientError

_PATIENCE_S = 60.0


def copy_out(connection: psycopg.Connection, query: str) -> bytes:
    """The rows of a query in COPY's text form.

    It goes to libpq directly: the driver's own cursor waits, allocates and checks once per row.
    """
    pgconn = connection.pgconn
    pgconn.send_query(f"COPY ({query}) TO STDOUT".encode())
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
