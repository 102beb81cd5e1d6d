"""Retention: old events go, whole segments at a time, never past a required consumer."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from headwater.failpoint import failpoint
from headwater.log.connection import transaction


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """What may go: events older than `max_age_ms`, or the oldest above `max_bytes`. None keeps."""

    max_age_ms: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class RetentionReport:
    """What went, and which required consumer kept more from going."""

    removed_events: int
    removed_bytes: int
    tail: int
    held_by: str | None


def retain(db: sqlite3.Connection, policy: RetentionPolicy, now_ms: int) -> RetentionReport:
    """Apply the policy in one transaction and give the space back to the file system."""
    with transaction(db):
        tail, head = db.execute("SELECT tail, head FROM state").fetchone()
        limit, holder = _slowest_required(db, head)
        wanted = _expired_up_to(db, policy, now_ms, head)
        removable = _border_at_or_before(db, min(wanted, limit), tail)
        events, size = _remove(db, tail, removable)
        failpoint("log.retain.before_commit")
    failpoint("log.retain.after_commit")
    db.execute("PRAGMA incremental_vacuum")
    held_by = holder if wanted > limit else None
    return RetentionReport(events, size, max(removable + 1, tail), held_by)


def _slowest_required(db: sqlite3.Connection, head: int) -> tuple[int, str | None]:
    row = db.execute(
        "SELECT acked, name FROM cursor WHERE required ORDER BY acked LIMIT 1"
    ).fetchone()
    return (head, None) if row is None else (int(row[0]), str(row[1]))


def _expired_up_to(db: sqlite3.Connection, policy: RetentionPolicy, now_ms: int, head: int) -> int:
    """The last sequence number that the policy lets go."""
    by_age = by_size = 0
    if policy.max_age_ms is not None:
        # The first segment that is young enough ends the run, so that order decides, not a clock.
        (young,) = db.execute(
            "SELECT min(first_seq) FROM segment WHERE max_ts_ms >= ?",
            (now_ms - policy.max_age_ms,),
        ).fetchone()
        by_age = head if young is None else int(young) - 1
    if policy.max_bytes is not None:
        (over,) = db.execute(
            "SELECT max(last_seq) FROM (SELECT last_seq, sum(length(payload))"
            " OVER (ORDER BY first_seq DESC) AS kept FROM segment) WHERE kept > ?",
            (policy.max_bytes,),
        ).fetchone()
        by_size = int(over or 0)
    return min(max(by_age, by_size), head)


def _border_at_or_before(db: sqlite3.Connection, sequence: int, tail: int) -> int:
    """A tail inside a transaction would show consumers half of it (INV-7)."""
    (border,) = db.execute(
        "SELECT max(last_seq) FROM segment WHERE last_seq <= ? AND closes", (sequence,)
    ).fetchone()
    return tail - 1 if border is None else int(border)


def _remove(db: sqlite3.Connection, tail: int, last: int) -> tuple[int, int]:
    if last < tail:
        return 0, 0
    (size,) = db.execute(
        "SELECT sum(length(payload)) FROM segment WHERE last_seq <= ?", (last,)
    ).fetchone()
    db.execute("DELETE FROM segment WHERE last_seq <= ?", (last,))
    db.execute("DELETE FROM hole WHERE last_seq <= ?", (last,))
    db.execute("UPDATE state SET tail = ?", (last + 1,))
    return last - tail + 1, int(size or 0)
