"""No row is missing of a table that was not published all the time: it is read, or it is a gap."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from headwater.contract import OnGap
from headwater.errors import GapError, TransientError
from headwater.event import Operation
from headwater.source.postgres.lsn import parse_lsn
from headwater.source.postgres.tables.watermark import WaitingChunk, read_waiting
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import PATIENCE_S, Capture, capturing, replay

_QUICK = {"heartbeat_interval_s": 0.05}
_TAKEN_OUT = "ALTER PUBLICATION headwater DROP TABLE t"
_HOLES = {
    "taken out": _TAKEN_OUT,
    "taken out and put back": f"{_TAKEN_OUT}; INSERT INTO t VALUES (2); "
    "ALTER PUBLICATION headwater ADD TABLE t",
    "some rows only": "ALTER PUBLICATION headwater SET TABLE t WHERE (id > 5), other",
    "some changes only": "ALTER PUBLICATION headwater SET (publish = 'insert')",
    "dropped": "DROP PUBLICATION headwater",
}


@pytest.fixture
def database(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    postgres_database.sql("CREATE TABLE other (id int PRIMARY KEY)")
    return postgres_database


def _captured(database: PostgresDatabase, log: MemoryLog, **settings: Any) -> None:
    """A capture that ran once and ended."""
    with capturing(database.config("postgres", **settings), log) as capture:
        capture.settle()


def _ids(capture: Capture, table: str) -> set[int]:
    return {key for (key,) in replay(capture.settle()).get(table, {})}


def _until_there(capture: Capture, table: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not _ids(capture, table):
        assert time.monotonic() < deadline, f"no row of {table} comes"


@pytest.mark.parametrize("snapshot", [True, False])
@pytest.mark.parametrize("by_hand", [True, False])
def test_rows_are_read_when_their_table_was_made_while_nobody_captured(
    database: PostgresDatabase, snapshot: bool, by_hand: bool
) -> None:
    log = MemoryLog()
    _captured(database, log, snapshot=snapshot)
    database.sql("CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1), (2)")
    if by_hand:
        database.sql("ALTER PUBLICATION headwater ADD TABLE late", user="postgres")
    database.sql("INSERT INTO late VALUES (3); DELETE FROM late WHERE id = 1")
    with capturing(database.config("postgres", snapshot=snapshot), log) as capture:
        database.sql("INSERT INTO late VALUES (4)")
        assert _ids(capture, "late") == {2, 3, 4}
        assert _ids(capture, "t") == ({1} if snapshot else set())
        settled = len(list(log.events()))
    with capturing(database.config("postgres", snapshot=snapshot), log) as capture:
        assert len(capture.settle()) == settled, "known now: nothing is read twice"


def test_rows_are_read_when_their_table_is_chosen_later(database: PostgresDatabase) -> None:
    log = MemoryLog()
    _captured(database, log, tables=("other",))
    with capturing(database.config("postgres"), log) as capture:
        assert _ids(capture, "t") == {1}


def test_rows_are_read_again_when_their_table_was_left_out_for_a_while(
    database: PostgresDatabase,
) -> None:
    log = MemoryLog()
    _captured(database, log)
    _captured(database, log, exclude=("t",))
    database.sql("INSERT INTO t VALUES (2); DELETE FROM t WHERE id = 1")
    with capturing(database.config("postgres"), log) as capture:
        assert _ids(capture, "t") == {2}


_OTHERS_NAMES = {
    "made anew": "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v text); "
    "INSERT INTO t VALUES (7, 'x')",
    "renamed": "ALTER TABLE t RENAME TO other_t; INSERT INTO other_t VALUES (8)",
    "swapped": "INSERT INTO other VALUES (9); ALTER TABLE t RENAME TO u; "
    "ALTER TABLE other RENAME TO t; ALTER TABLE u RENAME TO other",
}


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("change", list(_OTHERS_NAMES))
def test_name_holds_the_rows_of_the_table_that_has_it_when_another_had_it_before(
    database: PostgresDatabase, change: str, running: bool
) -> None:
    log = MemoryLog()
    config = database.config("postgres", **_QUICK)
    with capturing(config, log) as capture:
        capture.settle()
        # A backlog under the old name, which comes before the rows of the new table.
        database.sql("INSERT INTO t SELECT generate_series(20, 30)")
        database.sql(_OTHERS_NAMES[change], user="postgres")
        if running:
            _until_equal(database, capture)
    with capturing(config, log) as capture:
        _until_equal(database, capture)
        database.sql("INSERT INTO other SELECT 40")
        _until_equal(database, capture)


def test_no_row_is_missing_when_a_table_without_a_key_is_made_anew_and_written_meanwhile(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chunk's snapshot misses a row that the log has before the chunk goes in."""
    make = "CREATE TABLE bare (id int); ALTER TABLE bare REPLICA IDENTITY FULL"
    numbers = count(1)

    def raced(*given: Any) -> WaitingChunk:
        chunk = read_waiting(*given)
        database.sql("INSERT INTO bare VALUES (%s)", next(numbers))
        ((lsn,),) = database.sql("SELECT pg_current_wal_insert_lsn()::text")
        return replace(chunk, until=parse_lsn(lsn))

    database.sql(f"{make}; INSERT INTO bare VALUES (-1)")
    with capturing(database.config("postgres", **_QUICK)) as capture:
        capture.settle()
        monkeypatch.setattr("headwater.source.postgres.backfill.read_waiting", raced)
        database.sql(f"DROP TABLE bare; {make}; INSERT INTO bare VALUES (0)")
        deadline = time.monotonic() + PATIENCE_S
        while -1 in _values(capture, "bare") or capture.place.snapshot is not None:
            assert time.monotonic() < deadline
        written = {key for (key,) in database.sql("SELECT id FROM bare")}
        assert len(written) > 1
        assert _values(capture, "bare") == written


def _values(capture: Capture, table: str) -> set[int]:
    """What a consumer holds of a table without a key: rows since the table began anew."""
    held: set[int] = set()
    for event in capture.settle():
        if event.table == table and event.op is Operation.TRUNCATE:
            held.clear()
        elif event.table == table and event.after is not None:
            held.add(event.after["id"])
    return held


def _until_equal(database: PostgresDatabase, capture: Capture) -> None:
    names = database.sql(
        "SELECT relname::text FROM pg_class"
        " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    there = {
        name: {key for (key,) in database.sql(f"SELECT id FROM {name}", user="postgres")}
        for (name,) in names
    }
    deadline = time.monotonic() + PATIENCE_S
    while (held := {name: _ids(capture, name) for name in there}) != there:
        assert time.monotonic() < deadline, f"{held} is not {there}"


def test_rows_are_read_when_their_table_comes_before_the_first_look(
    database: PostgresDatabase,
) -> None:
    """A relation message makes the source look at the catalog, which must not count as known."""
    with capturing(database.config("postgres", **_QUICK)) as capture:
        capture.settle()
        database.sql("CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1)")
        database.sql("ALTER TABLE t ADD COLUMN v int; INSERT INTO t VALUES (2, 2)")
        capture.until(3)
        _until_there(capture, "late")
        database.sql("INSERT INTO late VALUES (2)")
        assert _ids(capture, "late") == {1, 2}


def test_rows_are_read_when_a_table_gets_a_name_that_was_chosen(database: PostgresDatabase) -> None:
    with capturing(database.config("postgres", tables=("t", "wanted"), **_QUICK)) as capture:
        capture.settle()
        database.sql("INSERT INTO other VALUES (7); ALTER TABLE other RENAME TO wanted")
        _until_there(capture, "wanted")
        assert _ids(capture, "wanted") == {7}


def test_other_new_tables_are_captured_when_one_cannot_be(
    database: PostgresDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING, "headwater.source.postgres"),
        capturing(database.config("postgres", **_QUICK)) as capture,
    ):
        capture.settle()
        database.sql("CREATE TABLE bare (id int)")
        capture.settle()
        database.sql("CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1)")
        _until_there(capture, "late")
        # What is missing can be given later.
        database.sql("INSERT INTO bare VALUES (5); ALTER TABLE bare ADD PRIMARY KEY (id)")
        _until_there(capture, "bare")
    told = [record for record in caplog.records if "stays out" in record.message]
    assert [record.__dict__["table"] for record in told] == ["public.bare"]


@pytest.mark.parametrize("hole", list(_HOLES))
def test_gap_stands_however_often_capture_starts_when_changes_were_not_sent(
    database: PostgresDatabase, hole: str
) -> None:
    log = MemoryLog()
    _captured(database, log)
    database.sql(_HOLES[hole], user="postgres")
    database.sql("INSERT INTO t VALUES (3)")
    for _ in range(2):
        with pytest.raises(GapError, match="t") as caught:
            _captured(database, log)
        assert caught.value.code == "postgres-publication-gone"


@pytest.mark.parametrize("hole", list(_HOLES))
@pytest.mark.parametrize("on_gap", [OnGap.RESNAPSHOT, OnGap.ACCEPT])
def test_gap_is_met_as_chosen_when_changes_were_not_sent(
    database: PostgresDatabase, hole: str, on_gap: OnGap
) -> None:
    log = MemoryLog()
    _captured(database, log)
    database.sql(_HOLES[hole], user="postgres")
    database.sql("INSERT INTO t VALUES (3)")
    for _ in range(2):
        with capturing(database.config("postgres", on_gap=on_gap), log) as capture:
            held = _ids(capture, "t")
    everything = {key for (key,) in database.sql("SELECT id FROM t")}
    assert held == (everything if on_gap is OnGap.RESNAPSHOT else {1})
    database.sql("INSERT INTO t VALUES (4)")
    with capturing(database.config("postgres"), log) as capture:  # the gap is over
        assert _ids(capture, "t") == held | {4}


@pytest.mark.parametrize(
    ("on_gap", "kind"), [(OnGap.HALT, GapError), (OnGap.RESNAPSHOT, TransientError)]
)
def test_gap_is_found_when_a_table_is_taken_out_under_a_running_capture(
    database: PostgresDatabase, on_gap: OnGap, kind: type[Exception]
) -> None:
    with capturing(database.config("postgres", on_gap=on_gap, **_QUICK)) as capture:
        capture.settle()
        database.sql(_TAKEN_OUT, user="postgres")
        database.sql("INSERT INTO t VALUES (2)")
        with pytest.raises(kind, match="published"):
            _look(capture)
        if on_gap is OnGap.RESNAPSHOT:
            capture.open_again()
            assert _ids(capture, "t") == {1, 2}


def _look(capture: Capture) -> None:
    for _ in range(100):
        capture.step()


@pytest.mark.parametrize(
    "harmless",
    [
        "CREATE TABLE late (id int PRIMARY KEY)",
        "DROP TABLE other",
        "ALTER PUBLICATION headwater SET TABLE t, other",
    ],
)
def test_nothing_is_a_gap_when_known_tables_were_sent_all_the_time(
    database: PostgresDatabase, harmless: str
) -> None:
    log = MemoryLog()
    _captured(database, log)
    database.sql(harmless, user="postgres")
    database.sql("INSERT INTO t VALUES (2)")
    with capturing(database.config("postgres"), log) as capture:
        assert _ids(capture, "t") == {1, 2}
