"""Loads: which tables' rows were still being read from the source, by sequence number.

A consumer that must not show half of a table has to know when it has all of it. The events alone
do not say: the last chunk of a table may be empty, and a table may be given up.
"""

from __future__ import annotations

import sqlite3

from headwater.contract import SourceBatch
from headwater.event import TableId


def note_loads(db: sqlite3.Connection, batch: SourceBatch, first: int, last: int) -> None:
    """Keep what a batch with the events `first` to `last` says of rows to come."""
    if batch.progress is not None and last >= first:
        db.execute(
            "UPDATE load SET last_seq = ? WHERE name = ? AND NOT done", (last, batch.progress.table)
        )
    if batch.owed is None:
        return
    owed = {str(table) for table in batch.owed}
    begun = {name for (name,) in db.execute("SELECT name FROM load WHERE NOT done")}
    for name in begun - owed:
        db.execute("UPDATE load SET done = 1 WHERE name = ? AND NOT done", (name,))
    for name in owed - begun:
        db.execute(
            "INSERT INTO load VALUES (?1, ?2, ?3, 0)"
            " ON CONFLICT DO UPDATE SET done = 0, last_seq = max(last_seq, ?3)",
            (name, first, last),
        )


def owes(db: sqlite3.Connection, table: TableId, until: int) -> bool:
    """Whether promised rows of the table come after `until`."""
    if not _known(db):
        return False
    return bool(
        db.execute(
            "SELECT 1 FROM load WHERE name = ?1 AND first_seq <= ?2"
            " AND (NOT done OR last_seq > ?2)",
            (str(table), until),
        ).fetchone()
    )


def count_done(db: sqlite3.Connection) -> int:
    """How many loads came to their end."""
    if not _known(db):
        return 0
    (done,) = db.execute("SELECT count(*) FROM load WHERE done").fetchone()
    return int(done)


def _known(db: sqlite3.Connection) -> bool:
    """A log of an older program has no record of loads until it is next written to."""
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'load'").fetchone())
