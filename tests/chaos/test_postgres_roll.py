"""PostgreSQL: a table that comes later has all of its rows in the log, wherever a capture dies."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

import pytest

from headwater.log import SqliteLog
from tests.chaos.postgres_worker import caught_up
from tests.chaos.scenario import Nursery
from tests.chaos.worker import Job, Place
from tests.fix_postgres import PostgresDatabase

pytestmark = pytest.mark.chaos

_PATIENCE_S = 30.0
_MOMENTS = (
    "source.postgres.tables_published",
    "capture.before_append",
    "log.append.before_commit",
    "log.append.after_commit",
    "source.postgres.backfill_placed",
)


class Late:
    """A capture, and an application that makes a table `late`."""

    def __init__(self, workers: Nursery, database: PostgresDatabase, arena: Path) -> None:
        self._workers = workers
        self._database = database
        self._arena = arena
        database.sql("CREATE TABLE fence (id serial PRIMARY KEY)")
        self.fence()

    def fence(self) -> None:
        self._database.sql("INSERT INTO fence DEFAULT VALUES")

    def make(self) -> None:
        self._database.sql("CREATE TABLE late (id int PRIMARY KEY, v text)")
        self._database.sql("INSERT INTO late SELECT g, 'old' FROM generate_series(1, 40) g")

    def change(self) -> None:
        self._database.sql("UPDATE late SET v = 'new' WHERE id < 5; DELETE FROM late WHERE id = 7")
        self._database.sql("INSERT INTO late VALUES (100, 'new')")

    def job(self, failpoints: str = "") -> Job:
        dsn = self._database.dsn("postgres")  # who may publish
        return Job(directory=str(self._arena), failpoints=failpoints, dsn=dsn)

    def capture(self, failpoints: str = "") -> int:
        return self._workers.start(self.job(failpoints)).wait()

    def capture_while_made(self, failpoints: str) -> int:
        running = caught_up(Place(self._arena))
        running.unlink(missing_ok=True)
        worker = self._workers.start(self.job(failpoints))
        deadline = time.monotonic() + _PATIENCE_S
        while not running.exists():
            assert time.monotonic() < deadline, "the worker does not catch up"
            time.sleep(0.01)
        self.make()
        return worker.wait()

    def held(self) -> dict[int, Any]:
        """What a consumer of the log holds of the table."""
        rows: dict[int, Any] = {}
        reader = SqliteLog(Place(self._arena).log).reader()
        try:
            events = [event for batch in reader.read(0) for event in batch]
        finally:
            reader.close()
        for event in events:
            if event.table == "late" and event.after is not None:
                rows[event.after["id"]] = event.after["v"]
            elif event.table == "late" and event.before is not None:
                rows.pop(event.before["id"], None)
        return rows

    def there(self) -> dict[int, Any]:
        """What the table holds."""
        return dict(self._database.sql("SELECT id, v FROM late"))


@pytest.fixture
def late(workers: Nursery, chaos_database: PostgresDatabase, arena: Path) -> Late:
    made = Late(workers, chaos_database, arena)
    assert made.capture() == 0
    return made


@pytest.mark.parametrize("moment", _MOMENTS)
def test_rows_are_there_when_killed_taking_up_a_table_made_while_nobody_captured(
    late: Late, moment: str
) -> None:
    late.make()
    assert late.capture(f"{moment}=kill@1") == -signal.SIGKILL
    late.change()
    late.fence()
    assert late.capture() == 0
    assert late.held() == late.there()


def test_rows_are_there_when_killed_between_publishing_a_new_table_and_owing_its_rows(
    late: Late,
) -> None:
    # The first passage is that of the opening.
    spec = "source.postgres.tables_published=kill@2"
    assert late.capture_while_made(spec) == -signal.SIGKILL
    late.change()
    late.fence()
    assert late.capture() == 0
    assert late.held() == late.there()
