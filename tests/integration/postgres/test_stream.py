"""The running stream lives while the reader is busy, idle, or sees only what it does not want."""

from __future__ import annotations

import time
from collections.abc import Iterator
from threading import Thread

import pytest

from headwater.errors import TransientError
from headwater.event import Operation
from headwater.observe import NoMetrics, SystemClock
from headwater.runtime.capture import CaptureLoop
from headwater.runtime.health import Facts, verdict
from headwater.source.postgres import PostgresSource
from headwater.source.postgres.lsn import parse_lsn
from headwater.source.postgres.server.slot import SlotFacts, read_slot
from headwater.source.postgres.stream.mailbox import GULP_MESSAGES
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers
from tests.integration.postgres.capturing import afters, capturing, ops, publish, streaming

_SENDER_TIMEOUT_S = 2
_MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def impatient_server(postgres_servers: PostgresServers) -> Iterator[PostgresServer]:
    server = postgres_servers.start({"wal_sender_timeout": f"{_SENDER_TIMEOUT_S}s"})
    yield server
    postgres_servers.discard(server)


@pytest.fixture
def database(
    postgres_servers: PostgresServers, impatient_server: PostgresServer
) -> Iterator[PostgresDatabase]:
    made = postgres_servers.database(impatient_server)
    made.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    yield made
    postgres_servers.drop(made)


def _slot(database: PostgresDatabase) -> SlotFacts:
    with database.connect("postgres") as connection:
        found = read_slot(connection, database.name)
    assert found is not None
    return found


def _now(database: PostgresDatabase) -> int:
    ((lsn,),) = database.sql("SELECT pg_current_wal_insert_lsn()::text")
    return parse_lsn(lsn)


def _holds_back(database: PostgresDatabase, lsn: int, limit: int) -> bool:
    slot = _slot(database)
    assert slot.confirmed_flush_lsn is not None
    assert slot.retained_bytes is not None
    return slot.confirmed_flush_lsn < lsn or slot.retained_bytes > limit


@pytest.mark.parametrize("waiting", [0, 5 * GULP_MESSAGES])  # so many fill all room that there is
def test_stream_lives_when_the_reader_is_busy_longer_than_the_servers_patience(
    database: PostgresDatabase, waiting: int
) -> None:
    """A peer answers the server only while it reads, and is thrown out during a long task."""
    with streaming(database) as capture:
        pid = _slot(database).active_pid
        database.sql(f"INSERT INTO t SELECT i, 'x' FROM generate_series(1, {waiting}) i")
        end = time.monotonic() + 3 * _SENDER_TIMEOUT_S
        key = waiting
        while time.monotonic() < end:
            key += 1
            database.sql("INSERT INTO t VALUES (%s, 'x')", key)
            time.sleep(0.05)
        while capture.step(max_events=20_000) is not None or capture.writer.head < key:
            pass
        assert capture.writer.head == key
        assert _slot(database).active_pid == pid


def test_stream_lives_and_is_healthy_when_nothing_happens(database: PostgresDatabase) -> None:
    """A peer takes silence of the database for a stalled source."""
    clock, log = SystemClock(), MemoryLog()
    loop = CaptureLoop(PostgresSource(publish(database)), log, clock=clock, metrics=NoMetrics())
    loop.start()
    try:
        deadline = time.monotonic() + 20
        while loop.facts.caught_up_head is None and time.monotonic() < deadline:
            time.sleep(0.05)
        pid = _slot(database).active_pid
        time.sleep(2 * _SENDER_TIMEOUT_S)
        age_s = clock.monotonic_s() - loop.facts.last_contact_s
        facts = Facts(state=loop.state, contact_age_s=age_s, stall_after_s=1.5)
        assert verdict(facts).ok
        assert loop.error is None
        assert not loop.facts.retrying
        assert pid is not None
        assert _slot(database).active_pid == pid
    finally:
        loop.stop()
        assert loop.join(20)


def test_slot_moves_on_when_every_change_is_of_a_table_that_is_not_captured(
    database: PostgresDatabase,
) -> None:
    """A peer lets the server keep its log until something wanted happens."""
    database.sql("CREATE TABLE noise (id int PRIMARY KEY, v text)")
    config = publish(database, tables=("t",))
    with capturing(config) as capture:
        capture.settle()
        began = _now(database)
        for part in range(4):
            database.sql(
                "INSERT INTO noise SELECT i, repeat(md5(i::text), 300)"
                " FROM generate_series(%s::int, %s) i",
                part * 1_000,
                part * 1_000 + 999,
            )
            capture.step(timeout_s=1.2)
        written, reached = _now(database) - began, _now(database)
        database.sql("CHECKPOINT", user="postgres")  # what a server does every few minutes
        deadline = time.monotonic() + 20
        while _holds_back(database, reached, written // 4):
            assert time.monotonic() < deadline, "the slot does not move"
            capture.step(timeout_s=0.2)
        assert list(capture.log.events()) == []
    assert written > _MEGABYTE


def test_stream_goes_on_without_loss_when_the_server_ends_the_connection(
    database: PostgresDatabase,
) -> None:
    config, log = publish(database), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        database.sql("INSERT INTO t VALUES (1, 'a')")
        capture.until(1)
        database.sql("SELECT pg_terminate_backend(%s)", _slot(database).active_pid, user="postgres")
        database.sql("INSERT INTO t VALUES (2, 'b')")
        with pytest.raises(TransientError):
            capture.until(2)
    with capturing(config, log) as capture:
        assert afters(capture.until(2)) == [{"id": 1, "v": "a"}, {"id": 2, "v": "b"}]


def test_rows_have_the_columns_of_their_time_when_the_table_changes_between_them(
    database: PostgresDatabase,
) -> None:
    with streaming(database) as capture:
        database.sql("INSERT INTO t VALUES (1, 'a')")
        database.sql("ALTER TABLE t ADD COLUMN n int DEFAULT 5")
        database.sql("INSERT INTO t VALUES (2, 'b')")
        database.sql("ALTER TABLE t RENAME COLUMN v TO word")
        database.sql("UPDATE t SET word = 'c' WHERE id = 2")
        database.sql("ALTER TABLE t DROP COLUMN n")
        database.sql("INSERT INTO t VALUES (3, 'd')")
        events = capture.until(7)  # all of it was done before the first row was read
        schemas = [capture.log.schemas[event.schema_id][1] for event in events]
    rows = [
        (event, schema) for event, schema in zip(events, schemas, strict=True) if event.table == "t"
    ]
    assert [event.after for event, _ in rows] == [
        {"id": 1, "v": "a"},
        {"id": 2, "v": "b", "n": 5},
        {"id": 2, "word": "c", "n": 5},
        {"id": 3, "word": "d"},
    ]
    for event, schema in rows:
        assert [column.name for column in schema.columns] == list(event.after or {})
        assert schema.primary_key == ("id",)
    assert ops(events).count(Operation.SCHEMA_CHANGE) == 3


def test_probing_never_blocks_when_the_receiver_is_busy(database: PostgresDatabase) -> None:
    """It waits for the reader to make room then: a reader that waits for it would do so forever."""
    with streaming(database) as capture:
        changes = 8 * GULP_MESSAGES
        database.sql("INSERT INTO t SELECT g, 'x' FROM generate_series(1, %s::int) g", changes)
        session = capture.source._session
        assert session is not None

        def probe() -> None:
            for _ in range(5_000):
                session.probe()

        time.sleep(2)  # until the receiver has as much as it may hold
        prober = Thread(target=probe, daemon=True)
        prober.start()
        prober.join(10)
        assert not prober.is_alive(), "the reader hangs"
        assert len(capture.until(changes, max_events=GULP_MESSAGES)) == changes
