"""A log's places, carried to another file: where the source stands, and each consumer.

A log that adopts them goes on where the other one stood: under its id, with its numbers, and with
its schema history, which the source will not tell again. Events are not carried, so a consumer that
is behind cannot be: what it lacks would be missing without a word (INV-9).
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import ConfigError, GapError, StateError
from headwater.log.connection import add_missing, connect, create, transaction, translated
from headwater.log.lease import Lease


@dataclass(frozen=True, slots=True)
class CarriedCursor:
    """A consumer's place."""

    name: str
    acked: int
    required: bool


@dataclass(frozen=True, slots=True)
class Carried:
    """The places of a log. `commands` is the last number that it gave to a command."""

    log_id: str
    source: str
    head: int
    position: str
    commands: int
    cursors: tuple[CarriedCursor, ...]
    schemas: tuple[tuple[int, int, str], ...]


def carried(path: Path) -> Carried:
    """The places of the log, of one moment; a writer may go on meanwhile."""
    db = connect(path)
    try:
        with translated(path):
            db.execute("BEGIN")
            meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
            head, position = db.execute("SELECT head, position FROM state").fetchone()
            if position is None:
                raise StateError(
                    "checkpoint-nothing", "no source has written to the log", where=str(path)
                )
            return Carried(
                log_id=meta["log_id"],
                source=meta["source"],
                head=head,
                position=position,
                commands=_last_command(db),
                cursors=tuple(
                    CarriedCursor(name, acked, bool(required))
                    for name, acked, required in db.execute(
                        "SELECT name, acked, required FROM cursor ORDER BY name"
                    )
                ),
                schemas=tuple(
                    db.execute(
                        "SELECT schema_id, first_seq, definition FROM schema_version"
                        " ORDER BY first_seq, rowid"
                    )
                ),
            )
    finally:
        db.close()


def _last_command(db: sqlite3.Connection) -> int:
    made = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").fetchone()
    if made is None:  # a log of an older program, which had no commands
        return 0
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'command'").fetchone()
    return int(row[0]) if row else 0


def adopt(path: Path, places: Carried) -> None:
    """Let a log that is new go on from these places. It takes the writer's place meanwhile."""
    _refuse_behind(path, places)
    lease = Lease(path)
    lease.acquire()
    try:
        create(path)
        db = connect(path)
        try:
            with translated(path), transaction(db):
                add_missing(db)
                _refuse_used(db, path, places)
                _write(db, places)
        finally:
            db.close()
    finally:
        lease.release()


def adopt_cursors(path: Path, places: Carried) -> None:
    """Set the consumers of the very log that they were taken from, forward only (INV-5)."""
    db = connect(path)
    try:
        with translated(path), transaction(db):
            (log_id,) = db.execute("SELECT value FROM meta WHERE key = 'log_id'").fetchone()
            if log_id != places.log_id:
                raise StateError(
                    "checkpoint-other-log",
                    f"the consumers belong to log {places.log_id}, this one is {log_id}",
                    where=str(path),
                )
            for cursor in places.cursors:
                _move(db, cursor)
    finally:
        db.close()


def _refuse_behind(path: Path, places: Carried) -> None:
    behind = [cursor.name for cursor in places.cursors if cursor.acked < places.head]
    if behind:
        raise GapError(
            "checkpoint-behind",
            f"{', '.join(behind)} had not read everything up to event {places.head:,}",
            where=str(path),
        )


def _refuse_used(db: sqlite3.Connection, path: Path, places: Carried) -> None:
    head, position = db.execute("SELECT head, position FROM state").fetchone()
    (cursors,) = db.execute("SELECT count(*) FROM cursor").fetchone()
    if head or position is not None or cursors:
        raise StateError(
            "checkpoint-log-used",
            f"the log has {head:,} events and {cursors} consumers of its own",
            where=str(path),
        )
    owner = db.execute("SELECT value FROM meta WHERE key = 'source'").fetchone()
    if owner is not None and owner[0] != places.source:
        raise ConfigError(
            "log-other-source",
            f"the log belongs to source {owner[0]}, not to {places.source}",
            where=str(path),
        )


def _write(db: sqlite3.Connection, places: Carried) -> None:
    now_ms = _now_ms()
    db.execute("UPDATE meta SET value = ? WHERE key = 'log_id'", (places.log_id,))
    db.execute("INSERT OR IGNORE INTO meta VALUES ('source', ?)", (places.source,))
    db.execute(
        "UPDATE state SET epoch = epoch + 1, tail = ?, head = ?, position = ?, appended_at_ms = ?",
        (places.head + 1, places.head, places.position, now_ms),
    )
    db.executemany("INSERT INTO schema_version VALUES (?, ?, ?)", places.schemas)
    db.executemany(
        "INSERT INTO cursor VALUES (?, ?, ?, ?)",
        [(each.name, each.acked, each.required, now_ms) for each in places.cursors],
    )
    # A command that comes later must have a number that the position has not seen.
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'command'")
    db.execute("INSERT INTO sqlite_sequence VALUES ('command', ?)", (places.commands,))


def _move(db: sqlite3.Connection, cursor: CarriedCursor) -> None:
    tail, head = db.execute("SELECT tail, head FROM state").fetchone()
    if not tail - 1 <= cursor.acked <= head:
        raise StateError(
            "cursor-ahead",
            f"{cursor.name!r} stood at {cursor.acked:,}, the log has {tail:,} to {head:,}",
        )
    row = db.execute("SELECT acked FROM cursor WHERE name = ?", (cursor.name,)).fetchone()
    if row is not None and row[0] > cursor.acked:
        raise StateError(
            "cursor-backwards", f"{cursor.name!r} is at {row[0]:,}, not before {cursor.acked:,}"
        )
    db.execute(
        "INSERT INTO cursor VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE"
        " SET acked = excluded.acked, updated_at_ms = excluded.updated_at_ms",
        (cursor.name, cursor.acked, cursor.required, _now_ms()),
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
