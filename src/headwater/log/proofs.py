"""Proofs: when each target table was last compared with its source, in the log's own file.

What was equal once stays true of that moment, so a table that differs now keeps the sequence number
and the time at which it was last proven equal.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwater.log.connection import add_missing, connect, transaction, translated


@dataclass(frozen=True, slots=True)
class Compared:
    """A table as it was found: equal or not, with how many rows of which hash at the source."""

    table: str
    equal: bool
    rows: int
    hash: str


@dataclass(frozen=True, slots=True)
class ProofInfo:
    """What is known of a table: the last comparison, and the last one that found it equal."""

    table: str
    equal: bool
    sequence: int
    at_ms: int
    equal_sequence: int | None
    equal_at_ms: int | None
    rows: int | None
    hash: str | None


def note(path: Path, target: str, sequence: int, found: Sequence[Compared]) -> None:
    """Keep what a comparison at an event has found of a target's tables."""
    db = connect(path)
    now_ms = time.time_ns() // 1_000_000
    try:
        with translated(path), transaction(db):
            add_missing(db)
            for each in found:
                db.execute(
                    "INSERT INTO proof (target, name, equal, seq, at_ms)"
                    " VALUES (?1, ?2, ?3, ?4, ?5)"
                    " ON CONFLICT (target, name) DO UPDATE SET equal = ?3, seq = ?4, at_ms = ?5",
                    (target, each.table, each.equal, sequence, now_ms),
                )
                if each.equal:
                    db.execute(
                        "UPDATE proof SET equal_seq = ?3, equal_at_ms = ?4, rows = ?5, hash = ?6"
                        " WHERE target = ?1 AND name = ?2",
                        (target, each.table, sequence, now_ms, each.rows, each.hash),
                    )
    finally:
        db.close()


def noted(path: Path, target: str) -> tuple[ProofInfo, ...]:
    """What is known of a target's tables, by name."""
    db = connect(path)
    try:
        with translated(path):
            made = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'proof'").fetchone()
            if made is None:  # a log of an older program
                return ()
            rows = db.execute(
                "SELECT name, equal, seq, at_ms, equal_seq, equal_at_ms, rows, hash FROM proof"
                " WHERE target = ? ORDER BY name",
                (target,),
            ).fetchall()
    finally:
        db.close()
    return tuple(ProofInfo(name, bool(equal), *rest) for name, equal, *rest in rows)
