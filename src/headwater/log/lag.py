"""How far a place in the log is behind its head."""

from __future__ import annotations

import sqlite3

from headwater.contract import Lag


def lag_after(db: sqlite3.Connection, after: int, head: int, now_ms: int) -> Lag:
    """What waits after an event; the sizes are those of whole stored runs."""
    if after >= head:
        return Lag()
    begins = "coalesce((SELECT max(first_seq) FROM segment WHERE first_seq <= ?1 + 1), 0)"
    size, oldest_ms = db.execute(
        "SELECT coalesce(sum(length(payload)), 0),"
        f" (SELECT max_ts_ms FROM segment WHERE first_seq >= {begins} AND last_seq > ?1"
        "   ORDER BY first_seq LIMIT 1)"
        f" FROM segment WHERE first_seq >= {begins} AND last_seq > ?1 AND first_seq <= ?2",
        (after, head),
    ).fetchone()
    waits_ms = 0 if oldest_ms is None else max(now_ms - oldest_ms, 0)
    return Lag(head - after, size, round(waits_ms / 1000, 3))
