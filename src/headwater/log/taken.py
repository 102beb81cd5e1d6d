"""What each target table took last, in the log's own file: for who asks when nothing runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from headwater.log.connection import add_missing, connect, transaction, translated

# Whoever keeps these can do so later: it never waits for the log as long as those who must write.
_PATIENCE_MS = 500


@dataclass(frozen=True, slots=True)
class TakenInfo:
    """A table after its last batch: where it was, what it took, and why it was parked."""

    table: str
    sequence: int
    events: int
    seconds: float
    at_ms: int
    parked: str | None


def keep(path: Path, target: str, found: Iterable[TakenInfo]) -> None:
    """Keep what is known of some tables of a target; raises soon if others write to the log."""
    rows = [
        (target, each.table, each.sequence, each.events, each.seconds, each.at_ms, each.parked)
        for each in found
    ]
    db = connect(path)
    try:
        with translated(path):
            db.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
            with transaction(db):
                add_missing(db)
                db.executemany(
                    "INSERT OR REPLACE INTO taken (target, name, seq, events, seconds, at_ms,"
                    " parked) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    rows,
                )
    finally:
        db.close()


def forget(path: Path, target: str) -> None:
    """Nothing is known of a target that was removed."""
    db = connect(path)
    try:
        with translated(path), transaction(db):
            add_missing(db)
            db.execute("DELETE FROM taken WHERE target = ?", (target,))
    finally:
        db.close()


def kept(path: Path, target: str) -> tuple[TakenInfo, ...]:
    """What is known of a target's tables, by name."""
    db = connect(path)
    try:
        with translated(path):
            made = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'taken'").fetchone()
            if made is None:  # a log of an older program
                return ()
            rows = db.execute(
                "SELECT name, seq, events, seconds, at_ms, parked FROM taken"
                " WHERE target = ? ORDER BY name",
                (target,),
            ).fetchall()
    finally:
        db.close()
    return tuple(TakenInfo(*row) for row in rows)
