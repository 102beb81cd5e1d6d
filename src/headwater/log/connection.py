"""Connections to a log file: the pragmas that make it durable, and SQLite's errors as ours."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

from headwater.errors import CorruptionError, HeadwaterError, MachineError, TransientError
from headwater.failpoint import failpoint
from headwater.files import sync_directory
from headwater.log.layout import (
    ADDED,
    APPLICATION_ID,
    DDL,
    LAYOUT_VERSION,
    PAGE_SIZE,
    WAL_PAGES,
)

BUSY_TIMEOUT_S = 30.0


def create(path: Path) -> None:
    """Make an empty log at `path`, readable by its owner only, or leave an existing one alone.

    It is built beside and linked into place, so a crash never leaves half a log at `path`.
    """
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{uuid4().hex}.new")
    with translated(path):
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError as exc:
            raise _from_os(exc, path) from exc
        try:
            _fill(draft)
            failpoint("log.create.before_link")
            with suppress(FileExistsError):  # another process was quicker: its log is the log
                os.link(draft, path)
                sync_directory(path.parent)
            failpoint("log.create.after_link")
        finally:
            draft.unlink(missing_ok=True)


def _fill(draft: Path) -> None:
    db = sqlite3.connect(draft, isolation_level=None)
    try:
        db.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {LAYOUT_VERSION}")
        db.executescript(f"BEGIN; {DDL}")
        add_missing(db)
        db.execute("INSERT INTO meta VALUES ('log_id', ?)", (str(uuid4()),))
        db.execute("COMMIT")
    finally:
        db.close()


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """Open an existing log; anything that is not a healthy log of this version is refused."""
    if not path.exists():
        raise MachineError("log-missing", f"no log at {path}", where=str(path))
    with translated(path):
        mode = "ro" if read_only else "rw"
        db = sqlite3.connect(
            f"file:{quote(str(path))}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _identify(db, path)
            if not read_only:
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = FULL")
                db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        except BaseException:
            db.close()
            raise
    return db


def _identify(db: sqlite3.Connection, path: Path) -> None:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise MachineError("log-not-a-log", f"{path} is not a Headwater log", where=str(path))
    if version != LAYOUT_VERSION:
        raise MachineError(
            "log-not-a-log",
            f"{path} has log layout {version}; this version reads {LAYOUT_VERSION}",
            where=str(path),
        )


def add_missing(db: sqlite3.Connection) -> None:
    """Add the tables that a log made by an older program lacks. Inside a write transaction."""
    for statement in ADDED:
        db.execute(statement)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """A write transaction that takes the lock at once, so that it never fails half-way for it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into coded ones that say what the caller can do."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _from_sqlite(exc, path) from exc


_BY_PRIMARY_CODE: dict[int, tuple[type[HeadwaterError], str]] = {
    sqlite3.SQLITE_BUSY: (TransientError, "log-busy"),
    sqlite3.SQLITE_LOCKED: (TransientError, "log-busy"),
    sqlite3.SQLITE_FULL: (MachineError, "log-disk-full"),
    sqlite3.SQLITE_READONLY: (MachineError, "log-read-only"),
    sqlite3.SQLITE_PERM: (MachineError, "log-read-only"),
    sqlite3.SQLITE_CANTOPEN: (MachineError, "log-read-only"),
    sqlite3.SQLITE_CORRUPT: (CorruptionError, "log-corrupt"),
    sqlite3.SQLITE_NOTADB: (MachineError, "log-not-a-log"),
}


def _from_sqlite(exc: sqlite3.Error, path: Path) -> HeadwaterError:
    code = getattr(exc, "sqlite_errorcode", 0)
    if code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return CorruptionError("log-corrupt", f"the file is cut short: {exc}", where=str(path))
    kind, name = _BY_PRIMARY_CODE.get(code & 0xFF, (MachineError, "log-io"))
    return kind(name, str(exc), where=str(path))


def _from_os(exc: OSError, path: Path) -> MachineError:
    denied = isinstance(exc, (PermissionError, FileNotFoundError)) or exc.errno == 30
    return MachineError("log-read-only" if denied else "log-io", str(exc), where=str(path))
