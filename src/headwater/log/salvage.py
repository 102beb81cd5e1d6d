"""Salvage: a new log file with everything that is still sound, and holes where it is not.

The holes stay errors for readers until a new snapshot of the source stands behind them in the log;
then `close_holes` lets readers pass, because later events restore the state. That the single
changes inside a hole are gone stays on record in the hole's row.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from pathlib import Path
from uuid import uuid4

from headwater.errors import TransientError
from headwater.failpoint import failpoint
from headwater.files import sync_directory
from headwater.log.check import Damage, damages
from headwater.log.connection import connect, create, transaction, translated
from headwater.log.lease import Lease

_DRAFT = ".salvage"
_COPIED = ("meta", "state", "schema_version", "cursor", "hole")
_COPIED_IF_THERE = ("command", "report", "load", "proof", "taken")


def salvage(path: Path) -> tuple[Damage, ...]:
    """Replace the file by a sound one; the old file stays beside it as `.damaged`.

    It takes the writer's place meanwhile: what a writer appended to the old file would be lost.
    """
    lease = Lease(path)
    lease.acquire()
    try:
        _sweep(path)
        return _rebuild(path)
    finally:
        lease.release()


def _sweep(path: Path) -> None:
    """Remove the drafts that salvages left when they were killed."""
    for draft in path.parent.glob(f"{glob.escape(path.name)}.*{_DRAFT}*"):
        draft.unlink(missing_ok=True)


def _rebuild(path: Path) -> tuple[Damage, ...]:
    fresh = path.with_name(f"{path.name}.{uuid4().hex}{_DRAFT}")
    with translated(path):
        old = connect(path)
        try:
            found = tuple(damages(old))
            create(fresh)
            _copy(old, fresh, found)
            _fold_back(old, path)
        finally:
            old.close()
    failpoint("log.salvage.before_replace")
    backup = path.with_name(f"{path.name}.damaged")
    backup.unlink(missing_ok=True)
    os.link(path, backup)
    # The side files belong to the damaged file; with the new one they would be read as its own.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    failpoint("log.salvage.before_swap")
    fresh.replace(path)
    sync_directory(path.parent)
    return found


def _fold_back(old: sqlite3.Connection, path: Path) -> None:
    """Where others have the log open, closing it would leave commits in a side file that goes."""
    (busy, _, _) = old.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise TransientError("log-busy", "another process is reading the log", where=str(path))


def _copy(old: sqlite3.Connection, fresh: Path, found: tuple[Damage, ...]) -> None:
    new = connect(fresh)
    try:
        with transaction(new):
            there = {name for (name,) in old.execute("SELECT name FROM sqlite_master")}
            for table in (*_COPIED, *there.intersection(_COPIED_IF_THERE)):
                new.execute(f"DELETE FROM {table}")
                _copy_rows(old, new, f"SELECT * FROM {table}", table)
            for first, last in _sound_ranges(old, found):
                _copy_rows(
                    old,
                    new,
                    "SELECT * FROM segment WHERE first_seq >= ? AND last_seq <= ?",
                    "segment",
                    (first, last),
                )
            new.executemany(
                "INSERT INTO hole VALUES (?, ?, ?, NULL)",
                [(each.first_sequence, each.last_sequence, each.reason) for each in found],
            )
        new.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        new.close()


def _copy_rows(
    old: sqlite3.Connection,
    new: sqlite3.Connection,
    query: str,
    table: str,
    arguments: tuple[int, ...] = (),
) -> None:
    for row in old.execute(query, arguments):
        marks = ", ".join("?" * len(row))
        new.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def _sound_ranges(old: sqlite3.Connection, found: tuple[Damage, ...]) -> list[tuple[int, int]]:
    tail, head = old.execute("SELECT tail, head FROM state").fetchone()
    ranges, start = [], tail
    for each in found:
        ranges.append((start, each.first_sequence - 1))
        start = each.last_sequence + 1
    return [*ranges, (start, head)]


def close_holes(path: Path, restored_by: int) -> int:
    """Let readers pass the holes: a snapshot up to `restored_by` stands behind them."""
    db = connect(path)
    try:
        with translated(path), transaction(db):
            closed = db.execute(
                "UPDATE hole SET restored_by = ? WHERE restored_by IS NULL", (restored_by,)
            )
        return closed.rowcount
    finally:
        db.close()
