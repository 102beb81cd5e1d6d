"""SqliteLog: the door to a log file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.contract import LogBounds, SourceIdentity
from headwater.errors import StateError
from headwater.log.check import Damage, damages
from headwater.log.commands import SqliteCommands
from headwater.log.connection import connect, create, transaction, translated
from headwater.log.cursor import CursorInfo, CursorPlace, SqliteCursor, hold_place
from headwater.log.lag import lag_after
from headwater.log.proofs import Compared, ProofInfo, note, noted
from headwater.log.reader import SqliteLogReader
from headwater.log.retention import RetentionPolicy, RetentionReport, retain
from headwater.log.salvage import close_holes, salvage
from headwater.log.taken import TakenInfo, forget, keep, kept
from headwater.log.writer import SqliteLogWriter


@dataclass(frozen=True, slots=True)
class Hole:
    """A range that salvage could not keep; once `restored_by` is set, readers pass it."""

    first_sequence: int
    last_sequence: int
    reason: str
    restored_by: int | None


@dataclass(frozen=True, slots=True)
class LogInfo:
    """What `headwater log info` shows."""

    path: str
    log_id: str
    source: str | None
    bounds: LogBounds
    segments: int
    payload_bytes: int
    file_bytes: int
    schemas: int
    position: str | None
    appended_at_ms: int
    cursors: tuple[CursorInfo, ...]
    holes: tuple[Hole, ...]


class SqliteLog:
    """A log in one SQLite file. Implements contract.Log and contract.Commanded.

    Delivery: an append is durable when it returns, exactly once; readers see whole transactions in
    commit order.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, path: Path | str) -> SqliteLog:
        """The log at `path`, made empty if there is none."""
        create(Path(path))
        return cls(path)

    def writer(self, source: SourceIdentity) -> SqliteLogWriter:
        """Take the log over for writing; made if there is none."""
        create(self.path)
        return SqliteLogWriter(self.path, source)

    def reader(self) -> SqliteLogReader:
        """A new reader."""
        return SqliteLogReader(self.path)

    def cursor(self, name: str, *, required: bool = False, start: int = 0) -> SqliteCursor:
        """The cursor of that name; made at `start` if it is new."""
        return SqliteCursor(self.path, name, required=required, start=start)

    def hold(self, name: str, after: int) -> None:
        """Make a required cursor just there: from before the log's begin a reader is told of it."""
        hold_place(self.path, name, after)

    def commands(self) -> SqliteCommands:
        """What people ask of whoever writes this log."""
        return SqliteCommands(self.path)

    def places(self) -> tuple[CursorPlace, ...]:
        """Where every cursor is; unlike `info` it looks at nothing else."""
        db = connect(self.path)
        try:
            with translated(self.path):
                rows = db.execute("SELECT name, acked, updated_at_ms FROM cursor ORDER BY name")
                return tuple(CursorPlace(*row) for row in rows)
        finally:
            db.close()

    def info(self) -> LogInfo:
        """Facts for people, in one consistent read."""
        db = connect(self.path)
        try:
            with translated(self.path):
                db.execute("BEGIN")
                meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
                tail, head, position, appended = db.execute(
                    "SELECT tail, head, position, appended_at_ms FROM state"
                ).fetchone()
                count, size = db.execute(
                    "SELECT count(*), coalesce(sum(length(payload)), 0) FROM segment"
                ).fetchone()
                (schemas,) = db.execute("SELECT count(*) FROM schema_version").fetchone()
                cursors = tuple(_cursors(db, head))
                holes = tuple(
                    Hole(*row)
                    for row in db.execute(
                        "SELECT first_seq, last_seq, reason, restored_by FROM hole"
                    )
                )
        finally:
            db.close()
        return LogInfo(
            path=str(self.path),
            log_id=meta["log_id"],
            source=meta.get("source"),
            bounds=LogBounds(tail, head),
            segments=count,
            payload_bytes=size,
            file_bytes=self.path.stat().st_size,
            schemas=schemas,
            position=position,
            appended_at_ms=appended,
            cursors=cursors,
            holes=holes,
        )

    def note_proofs(self, target: str, sequence: int, found: Sequence[Compared]) -> None:
        """Keep what a comparison at an event has found of a target's tables."""
        note(self.path, target, sequence, found)

    def proofs(self, target: str) -> tuple[ProofInfo, ...]:
        """When a target's tables were last compared, and last equal."""
        return noted(self.path, target)

    def note_taken(self, target: str, found: Iterable[TakenInfo]) -> None:
        """Keep what a target's tables took last; a log that is busy is not waited for long."""
        keep(self.path, target, found)

    def taken(self, target: str) -> tuple[TakenInfo, ...]:
        """What a target's tables took last."""
        return kept(self.path, target)

    def forget_taken(self, target: str) -> None:
        """Keep nothing of a target that was removed."""
        forget(self.path, target)

    def check(self) -> tuple[Damage, ...]:
        """Read everything and report every damaged range; empty means sound."""
        db = connect(self.path)
        try:
            with translated(self.path):
                return tuple(damages(db))
        finally:
            db.close()

    def salvage(self) -> tuple[Damage, ...]:
        """Move everything sound into a new file; see salvage.py. No writer may be open."""
        return salvage(self.path)

    def close_holes(self, restored_by: int) -> int:
        """Declare the holes restored by a snapshot that ends at `restored_by`."""
        return close_holes(self.path, restored_by)

    def retain(self, policy: RetentionPolicy) -> RetentionReport:
        """Remove what the policy lets go and no required consumer still needs."""
        db = connect(self.path)
        try:
            with translated(self.path):
                return retain(db, policy, time.time_ns() // 1_000_000)
        finally:
            db.close()

    def rewind(self, name: str, sequence: int) -> None:
        """Set a cursor back on purpose: a person's decision, never a consumer's (INV-5)."""
        db = connect(self.path)
        try:
            with translated(self.path), transaction(db):
                tail, head = db.execute("SELECT tail, head FROM state").fetchone()
                if not tail - 1 <= sequence <= head:
                    raise StateError(
                        "cursor-ahead", f"{sequence} is outside the log ({tail - 1} to {head})"
                    )
                moved = db.execute("UPDATE cursor SET acked = ? WHERE name = ?", (sequence, name))
                if moved.rowcount != 1:
                    raise StateError("cursor-unknown", f"no cursor {name!r}", where=str(self.path))
        finally:
            db.close()

    def remove_cursor(self, name: str) -> None:
        """Forget a consumer, so that it holds retention back no longer."""
        db = connect(self.path)
        try:
            with translated(self.path), transaction(db):
                if db.execute("DELETE FROM cursor WHERE name = ?", (name,)).rowcount != 1:
                    raise StateError("cursor-unknown", f"no cursor {name!r}", where=str(self.path))
        finally:
            db.close()


def _cursors(db: sqlite3.Connection, head: int) -> Iterator[CursorInfo]:
    now_ms = time.time_ns() // 1_000_000
    for name, acked, required, updated in db.execute(
        "SELECT name, acked, required, updated_at_ms FROM cursor ORDER BY name"
    ).fetchall():
        lag = lag_after(db, acked, head, now_ms)
        yield CursorInfo(name, acked, lag.events, lag.bytes, lag.seconds, bool(required), updated)
