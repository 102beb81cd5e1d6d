"""The integrity check: every stored batch against its checksum, and no number missing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from headwater.log.reader import rows_of


@dataclass(frozen=True, slots=True)
class Damage:
    """A range of events that cannot be read, and why."""

    first_sequence: int
    last_sequence: int
    reason: str


def damages(db: sqlite3.Connection) -> Iterator[Damage]:
    """Every damaged range between tail and head, in order; repaired holes are not damage."""
    tail, head = db.execute("SELECT tail, head FROM state").fetchone()
    known = dict(
        db.execute("SELECT first_seq, last_seq FROM hole WHERE restored_by IS NOT NULL").fetchall()
    )
    wanted = tail
    rows = rows_of(db)
    while True:
        try:
            stored = next(rows, None)
        except sqlite3.DatabaseError as exc:
            yield Damage(wanted, head, f"SQLite cannot read on: {exc}")
            return
        if stored is None or stored.first > head:
            break
        wanted = _past_holes(wanted, known)
        if stored.first > wanted:
            yield Damage(wanted, stored.first - 1, "the events are missing")
        try:
            stored.batch()
        except ValueError as exc:
            yield Damage(stored.first, stored.last, str(exc))
        wanted = stored.last + 1
    wanted = _past_holes(wanted, known)
    if wanted <= head:
        yield Damage(wanted, head, "the events are missing")


def _past_holes(sequence: int, holes: dict[int, int]) -> int:
    while sequence in holes:
        sequence = holes[sequence] + 1
    return sequence
