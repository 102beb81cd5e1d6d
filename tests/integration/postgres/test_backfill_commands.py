"""Rows that are asked for while the stream runs: they come once, where they fit, or are refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from headwater.contract import Command, Owed, OwedState, Phase, SourceBatch, Verb, Wish
from headwater.errors import HeadwaterError
from headwater.event import Event as Change
from headwater.event import Operation
from headwater.source.postgres import PostgresSourceConfig
from headwater.source.postgres.lsn import parse_lsn
from headwater.source.postgres.tables.watermark import WaitingChunk, read_waiting
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import PATIENCE_S, Capture, capturing, publish, replay

_ROWS = 40
_COLUMNS = ("id", "pad", "n", "body")
# Long enough to be stored beside the row: the stream leaves it out where it did not change.
_LONG = "(SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 100) j)"
_SHOP = f"""
CREATE TABLE t (id int PRIMARY KEY, pad text, n int, body text);
INSERT INTO t SELECT i, repeat('x', 1800), 0, {_LONG} FROM generate_series(1, {_ROWS}) i;
CREATE TABLE u (id int PRIMARY KEY, n int);
INSERT INTO u SELECT i, i FROM generate_series(1, 10) i;
CREATE TABLE bare (n int); ALTER TABLE bare REPLICA IDENTITY FULL;
CREATE TABLE secret (id int PRIMARY KEY, word text)
"""


@dataclass
class Asking:
    """A capture that takes commands as the loop gives them."""

    capture: Capture
    numbers: count[int] = field(default_factory=lambda: count(1))

    def ask(self, verb: Verb, table: str | None = None, **given: Any) -> Command:
        command = Command(next(self.numbers), Wish(verb=verb, table=table, **given))
        self.give(command)
        return command

    def give(self, command: Command) -> None:
        batch = self.capture.source.take(command)
        assert batch is not None
        self.capture.writer.append(batch)

    def refused(self, verb: Verb, table: str | None = None, **given: Any) -> str:
        with pytest.raises(HeadwaterError) as caught:
            self.ask(verb, table, **given)
        return caught.value.code

    def owed(self) -> dict[str, Owed]:
        return {each.table: each for each in self.capture.source.owed()}

    def chunk(self) -> SourceBatch:
        """Go on until a chunk is in the log."""
        while (batch := self.capture.step(timeout_s=0.05)) is None or batch.phase is Phase.STREAM:
            pass
        return batch

    def finish(self) -> list[Change]:
        """Everything in the log once nothing is owed and the stream is quiet."""
        deadline = time.monotonic() + PATIENCE_S
        while self.capture.step(timeout_s=0.2) is not None or self.capture.place.snapshot:
            assert time.monotonic() < deadline, self.owed()
        return list(self.capture.log.events())


@pytest.fixture
def shop(postgres_database: PostgresDatabase) -> PostgresDatabase:
    postgres_database.sql(_SHOP)
    return postgres_database


def _quiet(shop: PostgresDatabase, **settings: Any) -> PostgresSourceConfig:
    """A capture that has read no rows, a page to a chunk, and leaves one table out."""
    settings = {"chunk_rows": 1, "snapshot": False, "exclude": ("secret",)} | settings
    return publish(shop, **settings)


def _reads(events: list[Change], table: str = "t") -> list[int]:
    return [
        event.after["id"]
        for event in events
        if event.op is Operation.READ and event.table == table and event.after
    ]


def _truth(shop: PostgresDatabase, table: str = "t") -> dict[tuple[Any, ...], dict[str, Any]]:
    names = _COLUMNS if table == "t" else ("id", "n")
    found = shop.sql(f"SELECT {', '.join(names)} FROM {table}")
    return {(row[0],): dict(zip(names, row, strict=True)) for row in found}


def _settled(capture: Capture) -> Asking:
    capture.settle()
    return Asking(capture)


def test_a_table_is_read_once_and_no_other_when_it_is_asked_for(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        command = asking.ask(Verb.START, "t")
        assert asking.owed()["public.t"].state is OwedState.WAITING
        events = asking.finish()
        assert sorted(_reads(events)) == list(range(1, _ROWS + 1))
        assert _reads(events, "u") == []
        done = asking.owed()["public.t"]
        assert (done.state, done.rows_done, done.command) == (OwedState.DONE, _ROWS, command.id)


def test_only_rows_that_fulfil_the_condition_are_read(shop: PostgresDatabase) -> None:
    shop.sql("ANALYZE t")
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "public.t", where="id % 2 = 0 AND id > 10 -- half of them")
        total = asking.owed()["public.t"].rows_total
        assert total is not None
        assert 0 < total < _ROWS
        assert sorted(_reads(asking.finish())) == list(range(12, _ROWS + 1, 2))


def test_a_command_that_is_given_twice_reads_once(shop: PostgresDatabase) -> None:
    log = MemoryLog()
    with capturing(_quiet(shop), log) as capture:
        command = _settled(capture).ask(Verb.START, "u")
    with capturing(_quiet(shop), log) as capture:
        asking = Asking(capture)
        asking.give(command)
        assert _reads(asking.finish(), "u") == list(range(1, 11))
        asking.give(command)
        assert _reads(asking.finish(), "u") == list(range(1, 11))


def test_reading_goes_on_at_its_chunk_when_the_process_was_killed(shop: PostgresDatabase) -> None:
    log = MemoryLog()
    with capturing(_quiet(shop), log) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        asking.chunk()
    head = log.head
    assert 0 < head < _ROWS
    with capturing(_quiet(shop), log) as capture:
        events = Asking(capture).finish()
    assert sorted(_reads(events)) == list(range(1, _ROWS + 1))


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
                key = turn * 7 % _ROWS + 1
                connection.execute("UPDATE t SET n = n + 1 WHERE id = %s", (key,))
                connection.execute("DELETE FROM t WHERE id = %s", (key % 5 + 30,))
                connection.execute(
                    "INSERT INTO t VALUES (%s, 'new', 0, 'new') ON CONFLICT (id)"
                    " DO UPDATE SET id = -t.id - %s",
                    (key % 5 + 30, turn),
                )

    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
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
        events = asking.finish()
    assert any(event.unavailable_columns == ("body",) for event in events)
    assert replay(events)["t"] == _truth(shop)


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
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        assert replay(asking.finish())["t"] == _truth(shop)


def test_long_values_arrive_when_a_row_moved_inside_a_subtransaction(
    shop: PostgresDatabase,
) -> None:
    """A stored row names the subtransaction that wrote it, which no snapshot lists."""
    shop.sql("DELETE FROM t WHERE id <= 4")
    with psycopg.connect(shop.dsn("app"), autocommit=True) as owner:
        owner.execute("VACUUM t")
    with capturing(_quiet(shop)) as capture, closing(shop.connect()) as session:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        session.execute("BEGIN; UPDATE u SET n = 0; SAVEPOINT inner_one; UPDATE u SET n = 1")
        shop.sql("CREATE TABLE later (id int)")
        asking.chunk()
        session.execute("UPDATE t SET n = 1 WHERE id = 40; COMMIT")
        assert shop.sql("SELECT ctid::text FROM t WHERE id = 40")[0][0].startswith("(0,")
        assert replay(asking.finish())["t"] == _truth(shop)


def test_nothing_is_read_while_paused_and_everything_after(shop: PostgresDatabase) -> None:
    log = MemoryLog()
    with capturing(_quiet(shop), log) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        asking.ask(Verb.PAUSE)
        head = log.head
        shop.sql("INSERT INTO u VALUES (100, 1)")
        for _ in range(3):
            capture.step(timeout_s=0.3)
        assert log.head == head + 1, "the stream goes on"
        assert asking.owed()["public.t"].state is OwedState.PAUSED
    with capturing(_quiet(shop), log) as capture:
        asking = Asking(capture, count(10))
        capture.settle()
        assert log.head == head + 1, "a pause outlives the process"
        asking.ask(Verb.RESUME)
        assert sorted(_reads(asking.finish())) == list(range(1, _ROWS + 1))


def test_the_rest_is_forgotten_when_stopped(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        asking.ask(Verb.START, "u")
        asking.chunk()
        asking.ask(Verb.STOP, "t")
        events = asking.finish()
        assert 0 < len(_reads(events)) < _ROWS
        assert len(_reads(events, "u")) == 10
        assert asking.refused(Verb.STOP) == "backfill-none"


def test_rows_that_nobody_asked_for_are_not_forgotten_when_stopped(shop: PostgresDatabase) -> None:
    """They are owed to the log: without them it would be wrong without a word."""
    config = _quiet(shop, snapshot=True)
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
    assert replay(list(log.events()))["t"] == _truth(shop)


def test_reading_is_as_slow_as_it_was_asked_to_be(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop, chunk_rows=1000)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t", rows_per_s=20)
        began = time.monotonic()
        asking.chunk()
        while len(_reads(list(capture.log.events()))) < 30:
            capture.step(timeout_s=0.05)
        assert time.monotonic() - began > 1.2
        slow = time.monotonic()
        asking.ask(Verb.THROTTLE, rows_per_s=0)
        asking.finish()
        assert time.monotonic() - slow < PATIENCE_S


def test_a_table_without_limit_is_throttled_later(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        asking.ask(Verb.THROTTLE, rows_per_s=2)
        rows = len(asking.chunk().events)
        began = time.monotonic()
        asking.chunk()
        assert time.monotonic() - began > rows / 2 - 0.5 > 1


@pytest.mark.parametrize(
    ("table", "where", "code"),
    [
        ("nothing", None, "backfill-table"),
        ("secret", None, "backfill-table"),
        ("bare", None, "backfill-no-key"),
        ("u", "", "backfill-where"),
        ("u", "nosuch = 1", "backfill-where"),
        ("u", "id", "backfill-where"),
        ("u", "id = 1; DELETE FROM u", "backfill-where"),
        ("u", "true) OR (true", "backfill-where"),
        ("u", "true) UNION SELECT 1 FROM secret WHERE (true", "backfill-where"),
        ("u", "true) UNION SELECT 1 FROM u WHERE coalesce(true", "backfill-where"),
        ("u", "true) THEN true END UNION SELECT 1 WHERE CASE WHEN (true", "backfill-where"),
        ("u", "id = $1", "backfill-where"),
        ("u", "count(*) > 1", "backfill-where"),
        ("u", "1 / (1 - 1) = 1", "backfill-where"),
        ("u", "id IN (SELECT id FROM other_peoples)", "backfill-where"),
    ],
)
def test_a_command_is_refused_and_capture_goes_on_when_it_cannot_be_done(
    shop: PostgresDatabase, table: str, where: str | None, code: str
) -> None:
    shop.sql("CREATE TABLE other_peoples (id int); REVOKE ALL ON other_peoples FROM capture")
    config = _quiet(shop, exclude=("secret", "other_peoples"))
    with capturing(config) as capture:
        asking = _settled(capture)
        assert asking.refused(Verb.START, table, where=where) == code
        assert capture.place.snapshot is None
        shop.sql("INSERT INTO u VALUES (11, 11)")
        assert capture.until(1)[0].after == {"id": 11, "n": 11}


def test_the_same_rows_are_refused_while_they_are_read(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        assert asking.refused(Verb.START, "t") == "backfill-running"
        asking.ask(Verb.START, "t", where="id = 1")


def _fails_on_a_row(shop: PostgresDatabase) -> str:
    shop.sql("UPDATE t SET pad = 'not a number' WHERE id = 40")
    shop.sql("UPDATE t SET pad = '7' WHERE id < 40")
    return "pad::int = 7"


def _fails_later(shop: PostgresDatabase) -> str:
    shop.sql("ALTER TABLE t ADD COLUMN brief int")
    return "brief IS NULL"


@pytest.mark.parametrize("condition", [_fails_on_a_row, _fails_later])
def test_capture_goes_on_when_a_condition_fails_while_rows_are_read(
    shop: PostgresDatabase, condition: Callable[[PostgresDatabase], str]
) -> None:
    where = condition(shop)
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t", where=where)
        if condition is _fails_later:
            asking.chunk()
            shop.sql("ALTER TABLE t DROP COLUMN brief")
        asking.ask(Verb.START, "u")
        deadline = time.monotonic() + PATIENCE_S
        while (failed := asking.owed()["public.t"]).state is not OwedState.FAILED:
            capture.step(timeout_s=0.1)
            assert time.monotonic() < deadline
        assert failed.failure
        while len(_reads(list(capture.log.events()), "u")) < 10:
            capture.step(timeout_s=0.1)
            assert time.monotonic() < deadline
        asking.ask(Verb.STOP)
        assert capture.place.snapshot is None


def test_reading_ends_when_its_table_is_dropped(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "t")
        asking.chunk()
        assert "public.t" in asking.owed()
        shop.sql("DROP TABLE t")
        asking.finish()
        ended = asking.owed()["public.t"]
        assert (ended.state, bool(ended.failure)) == (OwedState.STOPPED, True)


def test_reading_waits_for_those_who_wrote_when_it_was_asked_for(shop: PostgresDatabase) -> None:
    """They may have begun before the table was published: the stream lacks what they do."""
    with capturing(_quiet(shop)) as capture, closing(shop.connect()) as session:
        asking = _settled(capture)
        session.execute("BEGIN; UPDATE u SET n = -1 WHERE id = 1")
        asking.ask(Verb.START, "t")
        for _ in range(2):
            capture.step(timeout_s=0.1)
        assert _reads(list(capture.log.events())) == []
        assert asking.owed()["public.t"].state is OwedState.WAITING
        session.execute("COMMIT")
        assert len(_reads(asking.finish())) == _ROWS


def test_every_partition_is_read_when_a_partitioned_table_is_asked_for(
    shop: PostgresDatabase,
) -> None:
    shop.sql(
        "CREATE TABLE p (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);"
        "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);"
        "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20);"
        "INSERT INTO p SELECT i, i FROM generate_series(0, 19) i"
    )
    with capturing(_quiet(shop)) as capture:
        asking = _settled(capture)
        asking.ask(Verb.START, "p", where="id % 2 = 0")
        assert set(asking.owed()) == {"public.p1", "public.p2"}
        assert sorted(_reads(asking.finish(), "p")) == list(range(0, 20, 2))


def test_a_command_waits_when_the_first_load_is_not_over(shop: PostgresDatabase) -> None:
    with capturing(_quiet(shop, snapshot=True)) as capture:
        capture.step(timeout_s=5)
        capture.step(timeout_s=5)
        command = Command(1, Wish(verb=Verb.PAUSE))
        assert capture.source.take(command) is None
