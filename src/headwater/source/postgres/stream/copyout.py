"""The rows of a query in COPY's binary form, as they arrive: their number has no bound."""

from __future__ import annotations

import select
from collections.abc import Generator, Iterator

import psycopg
from psycopg import errors, pq

from headwater.errors import TransientError

_WAIT_S = 0.1
_HEADER = 19  # signature, flags, length of an extension that there is not
_TRAILER = 2

Arrived = list[memoryview]
"""Rows: the number of columns, then each column's length and bytes."""


def copied(connection: psycopg.Connection, query: str) -> Generator[Arrived, None, None]:
    """What has arrived, again and again; nothing after a wait in vain, so that others get a turn.

    Whoever stops early leaves a connection behind that can only be closed.
    """
    pgconn = connection.pgconn
    pgconn.send_query(f"COPY ({query}) TO STDOUT (FORMAT binary)".encode())
    done = False
    try:
        while pgconn.flush() or pgconn.is_busy():
            yield from _more(pgconn)
        result = pgconn.get_result()
        if result is not None and result.status == pq.ExecStatus.COPY_OUT:
            yield from _rows(pgconn)
            result = pgconn.get_result()
        _finish(pgconn, result)
        done = True
    except (psycopg.Error, TransientError):
        done = True
        raise
    finally:
        if not done:  # the server would go on, and keep the slot busy
            connection.cancel_safe(timeout=5)


def _rows(pgconn: pq.abc.PGconn) -> Iterator[Arrived]:
    skip, length = _HEADER, 0
    while length >= 0:
        rows: Arrived = []
        length, row = pgconn.get_copy_data(1)
        while length > 0:
            if length - skip > _TRAILER:
                rows.append(row[skip:])
            skip = 0
            length, row = pgconn.get_copy_data(1)
        if rows:
            yield rows
        if length == 0:
            yield from _more(pgconn)


def _more(pgconn: pq.abc.PGconn) -> Iterator[Arrived]:
    readable, _, _ = select.select([pgconn.socket], [], [], _WAIT_S)
    if not readable:
        yield []
    pgconn.consume_input()


def _finish(pgconn: pq.abc.PGconn, result: pq.abc.PGresult | None) -> None:
    while pgconn.get_result() is not None:
        pass
    if result is None:
        raise TransientError("postgres-unreachable", "the connection is gone")
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise errors.error_from_result(result)
