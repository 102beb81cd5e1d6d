"""Why a server refused a connection, as the code that the client library keeps to itself.

A failed connection gives libpq's text alone: the server's reason in the server's language. Whether
to retry (it is starting up, it is full) or to stop (the password is wrong) must not hang on a text,
so the attempt is made once more under libpq's protocol trace, which shows the code.
"""

from __future__ import annotations

import os
import re
import select
import time

from psycopg import NotSupportedError, pq

_CODE = re.compile(rb'\tErrorResponse\t.*? C "([0-9A-Z]{5})"')
_WAITS = {pq.PollingStatus.READING, pq.PollingStatus.WRITING}


def refusal_code(conninfo: str, timeout_s: float) -> str | None:
    """The SQLSTATE with which the server refuses this connection; None if it does not say."""
    connection = pq.PGconn.connect_start(conninfo.encode())
    # The trace can hold what the client answers, so it lives in memory and only in here (INV-12).
    with os.fdopen(os.memfd_create("refusal"), "rb") as trace:
        try:
            connection.trace(trace.fileno())
            _attempt(connection, time.monotonic() + timeout_s)
            connection.untrace()  # writes out what it still holds
        except NotSupportedError:
            return None
        finally:
            connection.finish()
        trace.seek(0)
        found = _CODE.search(trace.read())
    return found[1].decode() if found else None


def _attempt(connection: pq.abc.PGconn, deadline: float) -> None:
    if connection.status == pq.ConnStatus.BAD:
        return
    while (state := connection.connect_poll()) in _WAITS:
        left = deadline - time.monotonic()
        if left <= 0:
            return
        socket = [connection.socket]
        reading = state == pq.PollingStatus.READING
        select.select(socket if reading else [], [] if reading else socket, [], left)
