"""A table that changes its shape at the worst moment is still followed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headwater.event import Event, Operation
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig

pytestmark = pytest.mark.chaos


def _drained(source: SqliteSource) -> list[Event]:
    events: list[Event] = []
    while (batch := source.read(100, 0.05)) is not None:
        events += batch.events
    return events


def test_source_follows_a_new_column_when_it_comes_between_install_and_open(arena: Path) -> None:
    path = arena / "source.db"
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    source = SqliteSource(SqliteSourceConfig(path=path))
    assert source.identity.uid
    db.execute("ALTER TABLE t ADD COLUMN late INTEGER DEFAULT 5")
    db.execute("INSERT INTO t VALUES (1, 7)")
    source.open(None)
    rows = [event for event in _drained(source) if event.op is not Operation.SCHEMA_CHANGE]
    source.close()
    db.close()
    assert rows[-1].after == {"id": 1, "late": 7}
