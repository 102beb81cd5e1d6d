"""Without a replication connection the slot is read by SQL: the same events, none lost or twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest

from headwater.errors import ConfigError, GapError, TransientError
from headwater.event import EventBatch, Position
from headwater.source.postgres import PostgresSource, PostgresSourceConfig
from headwater.source.postgres.config import Transport
from headwater.source.postgres.server.connect import replication_connection
from headwater.source.postgres.server.slot import read_slot
from headwater.source.postgres.stream import peek
from headwater.source.postgres.stream.mailbox import Gulp, Mailbox
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers
from tests.integration.postgres.capturing import capturing, publish, replay

_SPILL = {"logical_decoding_work_mem": "64kB", "max_wal_senders": "2"}


@pytest.fixture(scope="module")
def server(postgres_servers: PostgresServers) -> Iterator[PostgresServer]:
    made = postgres_servers.start(_SPILL)
    yield made
    postgres_servers.discard(made)


@pytest.fixture
def database(
    postgres_servers: PostgresServers, server: PostgresServer
) -> Iterator[PostgresDatabase]:
    made = postgres_servers.database(server)
    made.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    yield made
    postgres_servers.drop(made)


@pytest.fixture
def closed(
    postgres_servers: PostgresServers, senderless_server: PostgresServer
) -> Iterator[PostgresDatabase]:
    """A database whose server has no replication connection to give."""
    made = postgres_servers.database(senderless_server)
    made.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    yield made
    postgres_servers.drop(made)


def _rows(database: PostgresDatabase) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {(i,): {"id": i, "v": v} for i, v in database.sql("SELECT id, v FROM t")}


def _begun(database: PostgresDatabase, **settings: Any) -> MemoryLog:
    """A log whose capture has reached the stream."""
    log = MemoryLog()
    with capturing(publish(database, **settings), log) as capture:
        capture.settle()
    return log


def _read_again(config: PostgresSourceConfig, resume: Position | None, count: int) -> EventBatch:
    """So many events from a position on; nothing is confirmed, so the slot gives them again."""
    source = PostgresSource(config)
    source.open(resume)
    batches: list[EventBatch] = []
    while sum(map(len, batches)) < count:
        batch = source.read(1_000, 20.0)
        assert batch is not None
        batches.append(batch.events)
    source.close()
    # Where a gulp ended decides whether a transaction's size was known: leave it out.
    records = EventBatch.concat(batches).records
    place = records.schema.get_field_index("transaction")
    plain = pa.nulls(records.num_rows, records.schema.field(place).type)
    return EventBatch(records.set_column(place, records.schema.field(place), plain))


def _varied(database: PostgresDatabase) -> int:
    """Small, large, overlapping and rolled back transactions, changed tables, context, truncate."""
    database.sql("INSERT INTO t SELECT g, repeat('x', g % 900) FROM generate_series(1, 3000) g")
    database.sql("UPDATE t SET v = 'y' WHERE id % 3 = 0; DELETE FROM t WHERE id % 7 = 0")
    database.sql("SELECT pg_logical_emit_message(false, 'headwater.heartbeat', '')")
    with database.connect() as first, database.connect() as second:
        first.execute("BEGIN; INSERT INTO t VALUES (-1, 'first'); SAVEPOINT s")
        second.execute("BEGIN")
        second.execute("SELECT pg_logical_emit_message(true, 'headwater.context', '{\"a\": 1}')")
        second.execute("INSERT INTO t SELECT -g, 'z' FROM generate_series(100, 900) g")
        first.execute("UPDATE t SET v = 'undone' WHERE id < 100; ROLLBACK TO s")
        second.execute("COMMIT")
        first.execute("INSERT INTO t VALUES (-2, 'last'); COMMIT")
        second.execute("BEGIN; DELETE FROM t; ROLLBACK")
    database.sql("ALTER TABLE t ADD COLUMN n int DEFAULT 5")
    database.sql("INSERT INTO t VALUES (-3, 'n', 7)")
    database.sql("TRUNCATE t")
    return 3000 + 1000 + 428 + 801 + 2 + 2 + 1


@pytest.mark.parametrize("streaming", [True, False])
def test_batches_are_equal_when_both_transports_read_the_same_slot(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch, streaming: bool
) -> None:
    monkeypatch.setattr(peek, "_GULP_BYTES", 10_000)
    monkeypatch.setattr(peek, "_STEP_BYTES", 50_000)
    resume = _begun(database).position
    count = _varied(database)
    settings = {"streaming": streaming}
    read = [
        _read_again(publish(database, transport=transport, **settings), resume, count)
        for transport in (Transport.REPLICATION, Transport.SQL, Transport.REPLICATION)
    ]
    assert len(read[0]) == count
    for other in read[1:]:
        differing = [
            n for n in read[0].records.schema.names if read[0].column(n) != other.column(n)
        ]
        assert differing == []


def test_every_change_is_there_once_when_it_is_confirmed_late(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks show again what is not durable yet, and still get further."""
    monkeypatch.setattr(peek, "_STEP_BYTES", 20_000)
    resume = _begun(database).position
    for turn in range(40):
        database.sql(
            "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(%s::int, %s) g",
            turn * 50,
            turn * 50 + 49,
        )
    read = _read_again(publish(database, transport=Transport.SQL), resume, 2000)
    assert [event.after["id"] for event in read if event.after] == list(range(2000))


def test_gulps_are_handed_on_while_a_transaction_arrives(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transaction of any size fits: what waits for the reader is bounded."""
    resume = _begun(database).position
    database.sql("INSERT INTO t SELECT g, repeat('x', 5000) FROM generate_series(1, 6000) g")
    sizes: list[int] = []
    put = Mailbox.put

    def noted(mailbox: Mailbox, gulp: Gulp, timeout_s: float) -> bool:
        sizes.append(len(gulp.buffer))
        return put(mailbox, gulp, timeout_s)

    monkeypatch.setattr(Mailbox, "put", noted)
    monkeypatch.setattr(peek, "_GULP_BYTES", 1_000_000)
    assert len(_read_again(publish(database, transport=Transport.SQL), resume, 6000)) == 6000
    assert len(sizes) > 10
    assert max(sizes) < 3_000_000


@contextmanager
def _writing(database: PostgresDatabase) -> Iterator[None]:
    """An application that writes all the time."""
    done = Event()

    def write() -> None:
        with database.connect() as connection:
            key = 0
            while not done.is_set():
                key += 1
                connection.execute("INSERT INTO t VALUES (%s, 'a')", (key,))
                connection.execute("UPDATE t SET v = v || '.' WHERE id %% 7 = %s", (key % 7,))
                connection.execute("DELETE FROM t WHERE id = %s", (key - 50,))

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def test_nothing_is_lost_or_doubled_when_the_transport_changes_under_a_workload(
    database: PostgresDatabase,
) -> None:
    database.sql("INSERT INTO t SELECT -g, 'old' FROM generate_series(1, 500) g")
    publish(database)
    log = MemoryLog()
    with _writing(database):
        for turn in range(9):
            transport = Transport.REPLICATION if turn % 2 else Transport.SQL
            config = database.config(chunk_rows=100, transport=transport)
            with capturing(config, log, patient=True) as capture:
                end = time.monotonic() + 0.6
                while time.monotonic() < end:
                    capture.step(max_events=50, timeout_s=0.05)
    with capturing(database.config(), log, patient=True) as capture:
        events = capture.settle()
    assert replay(events)["t"] == _rows(database)
    ids = [event.event_id for event in events]
    assert len(set(ids)) == len(ids)


def test_sql_is_used_with_a_warning_when_the_server_allows_no_replication(
    closed: PostgresDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    _captured_by_sql(closed, caplog)


def test_sql_is_used_with_a_warning_when_a_pooler_refuses_replication(
    postgres_database: PostgresDatabase, pooled_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    _captured_by_sql(replace(postgres_database, pooled_port=pooled_port), caplog)


def _captured_by_sql(database: PostgresDatabase, caplog: pytest.LogCaptureFixture) -> None:
    database.sql("INSERT INTO t VALUES (1, 'a')")
    with caplog.at_level(logging.WARNING), capturing(publish(database)) as capture:
        database.sql("INSERT INTO t VALUES (2, 'b')")
        assert replay(capture.until(2))["t"] == _rows(database)
    (record, *_) = [each for each in caplog.records if each.name == "headwater.source.postgres"]
    assert "read by SQL, and each look decodes the server's log again" in record.getMessage()


def test_refusal_is_an_error_when_replication_was_asked_for(closed: PostgresDatabase) -> None:
    config = publish(closed, transport=Transport.REPLICATION)
    with pytest.raises(ConfigError) as caught, capturing(config) as capture:
        capture.settle()
    assert caught.value.code == "postgres-no-replication"
    assert caught.value.message == "max_wal_senders is 0"


def test_replication_is_tried_again_when_the_server_is_only_full(
    database: PostgresDatabase,
) -> None:
    log = _begun(database)
    others = [replication_connection(database.config()) for _ in range(2)]
    try:
        with pytest.raises(TransientError) as caught, capturing(publish(database), log):
            pass
    finally:
        for other in others:
            other.close()
    assert caught.value.code == "postgres-busy"


def _advance(database: PostgresDatabase, lsn: str | None = None) -> None:
    database.sql(
        "SELECT pg_replication_slot_advance(%s, coalesce(%s::pg_lsn, pg_current_wal_lsn()))",
        database.name,
        lsn,
        user="postgres",
    )


def _drop(database: PostgresDatabase) -> None:
    database.sql("SELECT pg_drop_replication_slot(%s)", database.name, user="postgres")


@pytest.mark.parametrize(
    ("disturb", "code"), [(_advance, "source-gap"), (_drop, "postgres-slot-missing")]
)
def test_gap_is_found_when_somebody_else_reads_or_drops_the_slot_meanwhile(
    database: PostgresDatabase,
    monkeypatch: pytest.MonkeyPatch,
    disturb: Callable[[PostgresDatabase], None],
    code: str,
) -> None:
    """Between two looks nobody holds the slot, so everyone may touch it."""
    log = MemoryLog()
    with capturing(publish(database, transport=Transport.SQL), log) as capture:
        capture.settle()
        monkeypatch.setattr(peek, "_POLL_S", 1.0)
        time.sleep(0.2)
        database.sql("INSERT INTO t VALUES (1, 'lost')")
        disturb(database)
        database.sql("INSERT INTO t VALUES (2, 'after')")
        with pytest.raises(GapError) as caught:
            capture.until(1)
    assert caught.value.code == code
    assert log.head == 0


def test_look_tells_where_it_began_when_the_slot_moved_just_before(
    database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last moment for another reader: after the slot was looked at, before it is read."""
    log = MemoryLog()
    with capturing(publish(database, transport=Transport.SQL), log) as capture:
        capture.settle()
        monkeypatch.setattr(peek, "_POLL_S", 1.0)
        time.sleep(0.2)
        database.sql("INSERT INTO t VALUES (1, 'lost')")
        ((between,),) = database.sql("SELECT pg_current_wal_lsn()::text")
        database.sql("INSERT INTO t VALUES (2, 'after')")

        def moved(connection: Any, name: str) -> Any:
            found = read_slot(connection, name)
            monkeypatch.setattr(peek, "read_slot", read_slot)
            _advance(database, between)
            return found

        monkeypatch.setattr(peek, "read_slot", moved)
        with pytest.raises(GapError, match="somebody else has read the slot"):
            capture.until(1)
    assert log.head == 0


def test_slot_follows_the_log_and_never_runs_ahead_of_it(database: PostgresDatabase) -> None:
    config = publish(database, transport=Transport.SQL)
    with capturing(config) as capture:
        capture.settle()
        before = capture.lsn
        database.sql("INSERT INTO t VALUES (1, 'a')")
        batch = capture.source.read(100, 10.0)
        assert batch is not None
        for _ in range(3):  # read, and not durable
            capture.source.read(100, 0.3)
        assert _confirmed(database) == before
        capture.writer.append(batch)
        assert capture.writer.position is not None
        capture.source.confirm(capture.writer.position)
        deadline = time.monotonic() + 10
        while _confirmed(database) < capture.lsn:
            assert time.monotonic() < deadline, "the slot does not move"
            capture.source.read(100, 0.1)


def _confirmed(database: PostgresDatabase) -> int:
    with database.connect("postgres") as connection:
        found = read_slot(connection, database.name)
    assert found is not None
    return found.confirmed_flush_lsn or 0


def test_close_ends_a_long_look_at_once_and_leaves_the_slot_free(
    database: PostgresDatabase,
) -> None:
    log = _begun(database)
    database.sql("INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 200000) g")
    source = PostgresSource(publish(database, transport=Transport.SQL))
    source.open(log.position)
    time.sleep(0.3)
    began = time.monotonic()
    source.close()
    assert time.monotonic() - began < 5
    deadline = time.monotonic() + 5
    while _active(database):
        assert time.monotonic() < deadline, "the server still reads the slot"
        time.sleep(0.05)


def _active(database: PostgresDatabase) -> bool:
    ((active,),) = database.sql(
        "SELECT active FROM pg_replication_slots WHERE slot_name = %s", database.name
    )
    return bool(active)


def test_rows_are_not_lost_when_a_transaction_began_just_before_its_table_was_published(
    database: PostgresDatabase,
) -> None:
    """Its number is beyond the end of every snapshot until it ends."""
    config = publish(database, heartbeat_interval_s=0.05)
    with capturing(config) as capture, database.connect() as owner, database.connect() as late:
        capture.settle()
        database.sql("CREATE TABLE fresh (id int PRIMARY KEY, v text)")
        owner.execute("BEGIN; ALTER PUBLICATION headwater ADD TABLE ONLY fresh")
        late.execute("BEGIN; INSERT INTO fresh VALUES (1, 'early')")
        owner.execute("COMMIT")
        for _ in range(5):
            capture.step(timeout_s=0.2)
        late.execute("COMMIT")
        rows = replay(capture.until(1))
    assert rows["fresh"] == {(1,): {"id": 1, "v": "early"}}
