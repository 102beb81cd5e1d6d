"""Connections to a user's database, and SQLite's errors as ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote as quote_url

from headwater.errors import CorruptionError, HeadwaterError, MachineError, TransientError
from headwater.source.sqlite import image

_KINDS: dict[int, tuple[type[HeadwaterError], str]] = {
    sqlite3.SQLITE_BUSY: (TransientError, "source-busy"),
    sqlite3.SQLITE_LOCKED: (TransientError, "source-busy"),
    sqlite3.SQLITE_CANTOPEN: (MachineError, "source-missing"),
    sqlite3.SQLITE_PERM: (MachineError, "source-read-only"),
    sqlite3.SQLITE_READONLY: (MachineError, "source-read-only"),
    sqlite3.SQLITE_NOTADB: (MachineError, "source-not-a-database"),
    sqlite3.SQLITE_CORRUPT: (CorruptionError, "source-corrupt"),
    sqlite3.SQLITE_FULL: (MachineError, "source-io"),
    # A statement was prepared for a schema that has just changed: reading again is all it takes.
    sqlite3.SQLITE_SCHEMA: (TransientError, "source-busy"),
}


def connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """Open an existing database for reading and writing; never make one."""
    if not path.is_file():
        raise MachineError("source-missing", f"there is no database at {path}", where=str(path))
    with translated(path):
        connection = sqlite3.connect(
            f"file:{quote_url(str(path))}?mode=rw",
            uri=True,
            timeout=busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
        )
        connection.execute("PRAGMA schema_version")  # the first read finds a file of another kind
    image.register(connection)
    return connection


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into coded ones that say what the caller can do."""
    try:
        yield
    except sqlite3.Error as exc:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        kind, name = _KINDS.get(code, (MachineError, "source-io"))
        raise kind(name, str(exc), where=str(path)) from exc


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """One read transaction: everything inside sees the same committed state."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
