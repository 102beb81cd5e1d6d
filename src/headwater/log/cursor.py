"""Cursors: each consumer's place, in the log's own file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import StateError
from headwater.failpoint import failpoint
from headwater.log.connection import connect, transaction, translated


@dataclass(frozen=True, slots=True)
class CursorInfo:
    """A cursor as `headwater log info` shows it."""

    name: str
    acked: int
    lag_events: int
    lag_bytes: int
    lag_s: float
    required: bool
    updated_at_ms: int


@dataclass(frozen=True, slots=True)
class CursorPlace:
    """Where a cursor is, and when it last moved."""

    name: str
    acked: int
    updated_at_ms: int


class SqliteCursor:
    """One consumer's durable place. Implements contract.Cursor; holds INV-1 and INV-5."""

    def __init__(self, path: Path, name: str, *, required: bool, start: int) -> None:
        self._path = path
        self._name = name
        self._db = connect(path)
        with translated(path), transaction(self._db):
            tail, head = self._db.execute("SELECT tail, head FROM state").fetchone()
            place = min(max(start, tail - 1), head)
            self._db.execute(
                "INSERT INTO cursor VALUES (?, ?, ?, ?)"
                " ON CONFLICT (name) DO UPDATE SET required = excluded.required",
                (name, place, required, _now_ms()),
            )
            (self._acked,) = self._db.execute(
                "SELECT acked FROM cursor WHERE name = ?", (name,)
            ).fetchone()

    @property
    def name(self) -> str:
        """The consumer's name."""
        return self._name

    @property
    def acked(self) -> int:
        """The last acknowledged sequence number, durable."""
        return int(self._acked)

    def ack(self, sequence: int) -> None:
        """Move forward to `sequence`, durably."""
        if sequence == self._acked:
            return
        failpoint("log.cursor.before_commit")
        with translated(self._path), transaction(self._db):
            moved = self._db.execute(
                "UPDATE cursor SET acked = ?1, updated_at_ms = ?2 WHERE name = ?3"
                " AND acked <= ?1 AND ?1 <= (SELECT head FROM state)",
                (sequence, _now_ms(), self._name),
            )
            if moved.rowcount != 1:
                raise self._refusal(sequence)
        failpoint("log.cursor.after_commit")
        self._acked = sequence

    def _refusal(self, sequence: int) -> StateError:
        row = self._db.execute("SELECT acked FROM cursor WHERE name = ?", (self._name,)).fetchone()
        if row is None:
            return StateError("cursor-unknown", f"cursor {self._name!r} was removed")
        if sequence < row[0]:
            return StateError(
                "cursor-backwards", f"cursor {self._name!r} is at {row[0]}, not before {sequence}"
            )
        return StateError(
            "cursor-ahead", f"cursor {self._name!r} cannot move to {sequence}: beyond the head"
        )

    def close(self) -> None:
        """Release the file."""
        self._db.close()


def hold_place(path: Path, name: str, after: int) -> None:
    """Make a required cursor at a place, which may lie before the log's begin."""
    db = connect(path)
    try:
        with translated(path), transaction(db):
            db.execute(
                "INSERT OR REPLACE INTO cursor VALUES (?, ?, ?, ?)", (name, after, True, _now_ms())
            )
    finally:
        db.close()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
