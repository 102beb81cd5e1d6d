"""A publication dropped and made anew: what changed between is not sent, which is a gap (INV-9)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from headwater.contract import OnGap
from headwater.errors import GapError, TransientError
from headwater.observe import NoMetrics, SystemClock
from headwater.runtime.capture import CaptureLoop
from headwater.source.postgres import PostgresSource
from headwater.source.postgres.config import Transport
from headwater.source.postgres.stream import receive
from headwater.source.postgres.stream.copyboth import LibraryStream
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import Capture, capturing, publish, replay


@pytest.fixture
def database(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    return postgres_database


def _rows(database: PostgresDatabase) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {(i,): {"id": i, "v": v} for i, v in database.sql("SELECT id, v FROM t")}


def _made_anew(database: PostgresDatabase) -> None:
    """Row 2 comes and row 1 goes without a publication, row 3 comes with another one."""
    database.sql("DROP PUBLICATION headwater")
    database.sql("INSERT INTO t VALUES (2, 'b'); DELETE FROM t WHERE id = 1")
    publish(database)
    database.sql("INSERT INTO t VALUES (3, 'c')")


@pytest.mark.parametrize("reader", ["socket", "library", "sql"])
@pytest.mark.parametrize("on_gap", list(OnGap))
def test_gap_is_met_as_chosen_when_the_publication_was_made_anew_behind_a_backlog(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, reader: str, on_gap: OnGap
) -> None:
    """Up to PostgreSQL 17 the server refuses to go on; from 18 on it only warns."""
    if reader == "library":
        monkeypatch.setattr(receive, "copy_both", lambda each: LibraryStream(each.pgconn))
    transport = Transport.SQL if reader == "sql" else Transport.REPLICATION
    log = MemoryLog()
    database.sql("INSERT INTO t VALUES (1, 'a')")
    with capturing(publish(database, transport=transport, on_gap=on_gap), log) as capture:
        capture.until(1)
        _made_anew(database)
        with pytest.raises(GapError if on_gap is OnGap.HALT else TransientError) as caught:
            capture.until(2)
        assert caught.value.code == "postgres-publication-gone"
        if on_gap is OnGap.HALT:
            _halts_again(capture)
            return
        capture.open_again()
        capture.settle()
        database.sql("INSERT INTO t VALUES (4, 'd')")
        held = replay(_until_key(capture, 4))["t"]
    if on_gap is OnGap.RESNAPSHOT:
        assert held == _rows(database)
    else:
        assert held == {(1,): {"id": 1, "v": "a"}, (4,): {"id": 4, "v": "d"}}
    with capturing(publish(database, transport=transport), log) as capture:  # the gap is over
        assert replay(capture.settle())["t"] == held


def _halts_again(capture: Capture) -> None:
    """Opening anew does not make it good."""
    with pytest.raises(GapError) as caught:
        capture.open_again()
    assert caught.value.code == "postgres-publication-gone"


def _until_key(capture: Capture, key: int) -> list[Any]:
    while True:
        events = capture.settle()
        if any(event.after and event.after.get("id") == key for event in events):
            return list(events)


def test_loop_reads_the_tables_again_by_itself_when_told_to(database: PostgresDatabase) -> None:
    log = MemoryLog()
    database.sql("INSERT INTO t VALUES (1, 'a')")
    with capturing(publish(database), log) as capture:
        capture.until(1)
    _made_anew(database)
    source = PostgresSource(publish(database, on_gap=OnGap.RESNAPSHOT))
    loop = CaptureLoop(source, log, clock=SystemClock(), metrics=NoMetrics())
    loop.start()
    try:
        deadline = time.monotonic() + 30
        while replay(list(log.events())).get("t") != _rows(database):
            assert loop.error is None
            assert time.monotonic() < deadline, "the gap stays"
            time.sleep(0.1)
    finally:
        loop.stop()
        assert loop.join(20)
