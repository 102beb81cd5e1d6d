"""A condition on rows, in SQL that somebody wrote: tried out before anything is read by it."""

from __future__ import annotations

import psycopg

from headwater.errors import ConfigError
from headwater.event import TableId
from headwater.source.postgres.names import quote_table

# Text that is valid in both is one expression: what would close the brackets of the first to open
# something else fails in the second. A comment at its end ends with its line.
_FRAMES = (
    "WHERE coalesce(\n{condition}\n, false)",
    "WHERE CASE WHEN (\n{condition}\n) THEN true END",
)
_PARAMETER = "08P01"  # a condition with $1 in it: nobody gives that a value
# Connection, resources, operator, system, and "not now": a lock, a snapshot, a deadlock.
_NOT_THE_CONDITION = {"08", "40", "53", "55", "57", "58", "XX"}


def bracketed(condition: str) -> str:
    """A condition as a part of a larger one."""
    return f"(\n{condition}\n)"


def estimated_rows(connection: psycopg.Connection, table: TableId, condition: str) -> int:
    """About how many rows fulfil a condition; one that the server refuses is refused.

    The extended protocol takes one statement at a time, and the transaction may write nothing.
    """
    source = f"EXPLAIN (FORMAT JSON) SELECT 1 FROM ONLY {quote_table(table)} "
    frames = [frame.replace("{condition}", condition) for frame in _FRAMES]
    row = None
    try:
        with connection.transaction():
            connection.execute("SET TRANSACTION READ ONLY")
            for frame in (*frames, f"WHERE {bracketed(condition)}"):
                row = connection.execute((source + frame).encode(), binary=True).fetchone()
    except psycopg.Error as exc:
        if not is_refusal(exc):
            raise
        raise ConfigError("backfill-where", reason(exc), where=condition) from exc
    if row is None:
        raise AssertionError("EXPLAIN gives one row")
    return int(row[0][0]["Plan"]["Plan Rows"])


def is_refusal(exc: psycopg.Error) -> bool:
    """Whether the server speaks of the condition, and not of itself or the connection."""
    state = exc.sqlstate
    return state is not None and (state == _PARAMETER or state[:2] not in _NOT_THE_CONDITION)


def reason(exc: psycopg.Error) -> str:
    """What the server says. A message may quote a value of a row, so it is kept short."""
    return f"{exc.diag.message_primary or 'refused'} (SQLSTATE {exc.sqlstate})"[:200]
