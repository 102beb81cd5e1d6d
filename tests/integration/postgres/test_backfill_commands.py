"""Rows that are asked for while the stream runs: they come once, and where they fit."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from itertools import count
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from headwater.contract import OwedState, Verb
from headwater.source.postgres.lsn import parse_lsn
from headwater.source.postgres.tables.watermark import WaitingChunk, read_waiting
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.asking import ROWS, SHOP, Asking, quiet, reads, settled, truth
from tests.integration.postgres.capturing import PATIENCE_S, capturing, replay


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql(SHOP)
    return postgres_database


def test_a_table_is_read_once_and_no_other_when_it_is_asked_for(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        command = asking.ask(Verb.START, "t")
        assert asking.owed()["public.t"].state is OwedState.WAITING
        events = asking.finish()
        assert sorted(reads(events)) == list(range(1, ROWS + 1))
        assert reads(events, "u") == []
        done = asking.owed()["public.t"]
        assert (done.state, done.rows_done, done.command) == (OwedState.DONE, ROWS, command.id)


def test_only_rows_that_fulfil_the_condition_are_read(shop: PostgresDatabase) -> None:
    shop.sql("ANALYZE t")
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "public.t", where="id % 2 = 0 AND id > 10 -- half of them")
        total = asking.owed()["public.t"].rows_total
        assert total is not None
        assert 0 < total < ROWS
        assert sorted(reads(asking.finish())) == list(range(12, ROWS + 1, 2))


def test_a_command_that_is_given_twice_reads_once(shop: PostgresDatabase) -> None:
    log = MemoryLog()
    with capturing(quiet(shop), log) as capture:
        command = settled(capture).ask(Verb.START, "u")
    with capturing(quiet(shop), log) as capture:
        asking = Asking(capture)
        asking.give(command)
        assert reads(asking.finish(), "u") == list(range(1, 11))
        asking.give(command)
        assert reads(asking.finish(), "u") == list(range(1, 11))


def test_reading_goes_on_at_its_chunk_when_the_process_was_killed(shop: PostgresDatabase) -> None:
    log = MemoryLog()
    with capturing(quiet(shop), log) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        asking.chunk()
    head = log.head
    assert 0 < head < ROWS
    with capturing(quiet(shop), log) as capture:
        events = Asking(capture).finish()
    assert sorted(reads(events)) == list(range(1, ROWS + 1))


def test_the_log_is_as_the_tables_are_when_rows_change_while_they_are_read(
    shop: PostgresDatabase,
) -> None:
    """Among them long values, which the stream does not repeat when others change."""
    enough = Event()

    def write() -> None:
        with shop.connect() as connection:
            for turn in count():
                if enough.is_set():
                    return
                key = turn * 7 % ROWS + 1
                connection.execute("UPDATE t SET n = n + 1 WHERE id = %s", (key,))
                connection.execute("DELETE FROM t WHERE id = %s", (key % 5 + 30,))
                connection.execute(
                    "INSERT INTO t VALUES (%s, 'new', 0, 'new') ON CONFLICT (id)"
                    " DO UPDATE SET id = -t.id - %s",
                    (key % 5 + 30, turn),
                )

    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        writer = Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                asking.ask(Verb.START, "t", rows_per_s=40)
                while capture.place.snapshot is not None:
                    capture.step(timeout_s=0.05)
        finally:
            enough.set()
            writer.join()
        shop.sql("INSERT INTO t VALUES (1000, 'last', 0, 'last')")
        # A moment's silence is no end on a busy machine: the last row is.
        while not any(event.after and event.after["id"] == 1000 for event in asking.finish()):
            capture.step()
        events = asking.finish()
    assert any(event.unavailable_columns == ("body",) for event in events)
    assert replay(events)["t"] == truth(shop)


def test_long_values_arrive_when_rows_are_updated_just_after_they_were_read(
    shop: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has the update first, without the long value that only the chunk has."""

    def raced(*given: Any) -> WaitingChunk:
        chunk = read_waiting(*given)
        shop.sql("UPDATE t SET n = n + 1")
        ((lsn,),) = shop.sql("SELECT pg_current_wal_insert_lsn()::text")
        return replace(chunk, until=parse_lsn(lsn))

    monkeypatch.setattr("headwater.source.postgres.backfill.read_waiting", raced)
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        assert replay(asking.finish())["t"] == truth(shop)


def test_long_values_arrive_when_a_row_moved_inside_a_subtransaction(
    shop: PostgresDatabase,
) -> None:
    """A stored row names the subtransaction that wrote it, which no snapshot lists."""
    shop.sql("DELETE FROM t WHERE id <= 4")
    with psycopg.connect(shop.dsn("app"), autocommit=True) as owner:
        owner.execute("VACUUM t")
    with capturing(quiet(shop)) as capture, closing(shop.connect()) as session:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        session.execute("BEGIN; UPDATE u SET n = 0; SAVEPOINT inner_one; UPDATE u SET n = 1")
        shop.sql("CREATE TABLE later (id int)")
        asking.chunk()
        session.execute("UPDATE t SET n = 1 WHERE id = 40; COMMIT")
        assert shop.sql("SELECT ctid::text FROM t WHERE id = 40")[0][0].startswith("(0,")
        assert replay(asking.finish())["t"] == truth(shop)


def test_nothing_is_read_while_paused_and_everything_after(shop: PostgresDatabase) -> None:
    log = MemoryLog()
    with capturing(quiet(shop), log) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        asking.ask(Verb.PAUSE)
        head = log.head
        shop.sql("INSERT INTO u VALUES (100, 1)")
        for _ in range(3):
            capture.step(timeout_s=0.3)
        assert log.head == head + 1, "the stream goes on"
        assert asking.owed()["public.t"].state is OwedState.PAUSED
    with capturing(quiet(shop), log) as capture:
        asking = Asking(capture, count(10))
        capture.settle()
        assert log.head == head + 1, "a pause outlives the process"
        asking.ask(Verb.RESUME)
        assert sorted(reads(asking.finish())) == list(range(1, ROWS + 1))


def test_the_rest_is_forgotten_when_stopped(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        asking.ask(Verb.START, "u")
        asking.chunk()
        asking.ask(Verb.STOP, "t")
        events = asking.finish()
        assert 0 < len(reads(events)) < ROWS
        assert len(reads(events, "u")) == 10
        assert asking.refused(Verb.STOP) == "backfill-none"


def test_rows_that_nobody_asked_for_are_not_forgotten_when_stopped(shop: PostgresDatabase) -> None:
    """They are owed to the log: without them it would be wrong without a word."""
    config = quiet(shop, snapshot=True)
    log = MemoryLog()
    with capturing(config, log) as capture:
        capture.step(timeout_s=5)
        capture.step(timeout_s=5)
    with capturing(config, log) as capture:
        asking = Asking(capture)
        assert asking.refused(Verb.STOP) == "backfill-none"
        asking.ask(Verb.START, "u", where="id > 5")
        asking.ask(Verb.STOP)
        asking.finish()
    assert replay(list(log.events()))["t"] == truth(shop)


def test_reading_is_as_slow_as_it_was_asked_to_be(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop, chunk_rows=1000)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t", rows_per_s=20)
        began = time.monotonic()
        asking.chunk()
        while len(reads(list(capture.log.events()))) < 30:
            capture.step(timeout_s=0.05)
        assert time.monotonic() - began > 1.2
        slow = time.monotonic()
        asking.ask(Verb.THROTTLE, rows_per_s=0)
        asking.finish()
        assert time.monotonic() - slow < PATIENCE_S


def test_a_table_without_limit_is_throttled_later(shop: PostgresDatabase) -> None:
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        asking.ask(Verb.THROTTLE, rows_per_s=2)
        rows = len(asking.chunk().events)
        began = time.monotonic()
        asking.chunk()
        assert time.monotonic() - began > rows / 2 - 0.5 > 1


def test_reading_waits_for_those_who_wrote_when_it_was_asked_for(shop: PostgresDatabase) -> None:
    """They may have begun before the table was published: the stream lacks what they do."""
    with capturing(quiet(shop)) as capture, closing(shop.connect()) as session:
        asking = settled(capture)
        session.execute("BEGIN; UPDATE u SET n = -1 WHERE id = 1")
        asking.ask(Verb.START, "t")
        for _ in range(2):
            capture.step(timeout_s=0.1)
        assert reads(list(capture.log.events())) == []
        assert asking.owed()["public.t"].state is OwedState.WAITING
        session.execute("COMMIT")
        assert len(reads(asking.finish())) == ROWS


def test_every_partition_is_read_when_a_partitioned_table_is_asked_for(
    shop: PostgresDatabase,
) -> None:
    shop.sql(
        "CREATE TABLE p (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);"
        "INSERT INTO p SELECT i, i FROM generate_series(0, 19) i"
    )
    with capturing(quiet(shop)) as capture:
        asking = settled(capture)
        asking.ask(Verb.START, "p", where="id % 2 = 0")
        assert set(asking.owed()) == {"public.p1", "public.p2"}
        assert sorted(reads(asking.finish(), "p")) == list(range(0, 20, 2))
