"""A small shop for tests: a database with every awkward kind of table, and its capture."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from headwater.log import SqliteLog
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig

SCHEMA = """
CREATE TABLE customers (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, balance REAL, photo BLOB, score DECIMAL(10, 2), tag
);
CREATE TABLE orders (
    region TEXT, number INTEGER, customer_id INTEGER REFERENCES customers ON DELETE CASCADE,
    note TEXT, PRIMARY KEY (region, number)
) WITHOUT ROWID;
"""


@dataclass(slots=True)
class Shop:
    """A database file, its connection, and the log that its changes are drained into."""

    db: sqlite3.Connection
    path: Path
    log: SqliteLog

    def run(self, *statements: str) -> None:
        """Commit these statements as one transaction."""
        for statement in statements:
            self.db.execute(statement)
        self.db.commit()

    def drain(self, max_events: int = 1000) -> int:
        """Capture everything committed so far; returns the log's head."""
        source = SqliteSource(SqliteSourceConfig(path=self.path, chunk_rows=50))
        writer = self.log.writer(source.identity)
        try:
            source.open(writer.position)
            while (batch := source.read(max_events, 0.0)) is not None:
                writer.append(batch)
                source.confirm(batch.position)
            return writer.head
        finally:
            source.close()
            writer.close()


def open_shop(folder: Path) -> Shop:
    """A new shop in the folder, with a few rows."""
    path = folder / "shop.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA foreign_keys = ON")
    db.executescript(SCHEMA)
    db.executemany(
        "INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?)",
        [
            (1, "Ada", 0.1, b"\x00\xff", 12.5, None),
            (2, 'B"o\n', -1e300, None, 3, "text"),
            (9223372036854775807, "Zoë 🦆", None, b"", None, 7),
        ],
    )
    db.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?)",
        [("north", 1, 1, "a"), ("north", 2, 2, "b"), ("south", 1, 1, None)],
    )
    db.commit()
    return Shop(db, path, SqliteLog(folder / "shop.hwlog"))
