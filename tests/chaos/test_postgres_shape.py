"""PostgreSQL: a table altered while nobody captures is told of once, wherever the next one dies."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from headwater.event import Event, Operation
from headwater.log import SqliteLog
from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.publication import ensure
from tests.chaos.postgres_worker import config
from tests.chaos.scenario import Nursery
from tests.chaos.worker import Job, Place
from tests.fix_postgres import PostgresDatabase

pytestmark = pytest.mark.chaos


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        ("capture.before_append", 0),
        ("log.append.before_commit", 0),
        ("log.append.after_commit", 1),
        ("capture.after_confirm", 1),
    ],
)
def test_altered_table_is_told_of_once_when_capture_is_killed_at(
    moment: str, kept: int, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    """INV-6: what the log knows of a shape is kept and lost together with the event about it."""

    def capture(failpoints: str = "") -> int:
        job = Job(directory=str(arena), failpoints=failpoints, dsn=chaos_database.dsn())
        return workers.start(job).wait()

    def write(table: str) -> None:
        chaos_database.sql(f"{table}; INSERT INTO fence DEFAULT VALUES")

    # The worker ends with the fence, and reads tables by name: this one comes first.
    chaos_database.sql("CREATE TABLE early (id int PRIMARY KEY)")
    chaos_database.sql("CREATE TABLE fence (id serial PRIMARY KEY)")
    chosen = config(chaos_database.dsn())
    with chaos_database.connect() as owner:
        ensure(owner, chosen, read_tables(owner, chosen))
    write("INSERT INTO early VALUES (1)")
    assert capture() == 0
    # No fence: the next worker to end must have read the rows behind it, too.
    chaos_database.sql("ALTER TABLE early ADD COLUMN a int; INSERT INTO early VALUES (2, 2)")
    assert capture(f"{moment}=kill@1") == -signal.SIGKILL
    assert len(_told(_events(arena))) == kept
    write("INSERT INTO early VALUES (3, 3)")
    assert capture() == 0
    events = _events(arena)
    assert [(event.after or {}).get("id") for event in events] == [1, None, 2, 3]
    assert [event.event_id for event in _told(events)] == [events[1].event_id]


def _events(arena: Path) -> list[Event]:
    reader = SqliteLog(Place(arena).log).reader()
    try:
        events = [event for batch in reader.read(0) for event in batch]
    finally:
        reader.close()
    return [event for event in events if event.table != "fence"]


def _told(events: list[Event]) -> list[Event]:
    return [event for event in events if event.op is Operation.SCHEMA_CHANGE]
