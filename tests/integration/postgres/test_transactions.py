"""Transactions arrive whole, once and in the order of their commits, however they were made."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator, Sequence

import pytest

from headwater.event import Event
from headwater.source.postgres.server.slot import read_slot
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers
from tests.integration.postgres.capturing import capturing, publish, replay, streaming

# So little that a few hundred rows are sent while their transaction is still running.
_EAGER = {"logical_decoding_work_mem": "64kB", "max_prepared_transactions": "5"}
_MANY = 2_000


@pytest.fixture(scope="module")
def eager_server(postgres_servers: PostgresServers) -> Iterator[PostgresServer]:
    server = postgres_servers.start(_EAGER)
    yield server
    postgres_servers.discard(server)


@pytest.fixture
def database(
    postgres_servers: PostgresServers, eager_server: PostgresServer
) -> Iterator[PostgresDatabase]:
    made = postgres_servers.database(eager_server)
    made.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    yield made
    postgres_servers.drop(made)


def _keys(events: Sequence[Event]) -> list[int]:
    return [event.after["id"] for event in events if event.after is not None]


def _fill(first: int, count: int = _MANY) -> str:
    last = first + count - 1
    return f"INSERT INTO t SELECT i, md5(i::text) FROM generate_series({first}, {last}) i"


def _streamed(database: PostgresDatabase) -> int:
    """How many transactions the server has sent in progress."""
    sql = "SELECT stream_txns FROM pg_stat_replication_slots WHERE slot_name = %s"
    ((count,),) = database.sql(sql, database.name)
    return int(count)


def test_tail_of_a_transaction_is_read_again_when_the_process_ends_between_its_pieces(
    database: PostgresDatabase,
) -> None:
    """A peer confirms a transaction's end with its first piece and never sees the rest (INV-2)."""
    config, log = publish(database), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        database.sql(_fill(1, 50))
        for _ in range(2):  # two of five pieces
            batch = capture.step(max_events=10, timeout_s=10)
            assert batch is not None
            assert not batch.events.closes_transaction
        before = capture.lsn
    assert log.head == 0
    slot = _slot_lsn(database)
    assert slot <= before
    with capturing(config, log) as capture:
        assert _keys(capture.until(50, max_events=10)) == list(range(1, 51))


def _slot_lsn(database: PostgresDatabase) -> int:
    with database.connect("postgres") as connection:
        found = read_slot(connection, database.name)
    assert found is not None
    assert found.confirmed_flush_lsn is not None
    return found.confirmed_flush_lsn


def test_nothing_comes_twice_when_resumed_after_the_last_transaction(
    database: PostgresDatabase,
) -> None:
    """A peer resumes at a row's position, before its commit, and reads the transaction again."""
    config, log = publish(database), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        for key in range(5):
            database.sql(_fill(key * 10 + 1, 10))
        capture.until(50)
    for _ in range(2):
        with capturing(config, log) as capture:
            assert len(capture.settle()) == 50
    database.sql(_fill(100, 1))
    with capturing(config, log) as capture:
        assert _keys(capture.until(51)) == [*range(1, 51), 100]


def test_transactions_come_in_commit_order_when_they_overlap(database: PostgresDatabase) -> None:
    with streaming(database) as capture:
        with database.connect() as early, database.connect() as late:
            early.execute("BEGIN")
            early.execute("INSERT INTO t VALUES (1, 'began first')")
            late.execute("BEGIN")
            late.execute("INSERT INTO t VALUES (2, 'committed first')")
            late.execute("COMMIT")
            early.execute("INSERT INTO t VALUES (3, 'ends last')")
            early.execute("COMMIT")
        events = capture.until(3)
    assert _keys(events) == [2, 1, 3]
    transactions = [event.transaction for event in events]
    assert [t.event_index for t in transactions if t] == [0, 0, 1]
    assert len({t.tx_id for t in transactions if t}) == 2


def test_savepoints_leave_only_what_was_not_rolled_back(database: PostgresDatabase) -> None:
    with streaming(database) as capture:
        with database.connect() as db, db.transaction():
            db.execute("INSERT INTO t VALUES (1, 'kept')")
            db.execute("SAVEPOINT a")
            db.execute("INSERT INTO t VALUES (2, 'undone')")
            db.execute("SAVEPOINT b")
            db.execute("INSERT INTO t VALUES (3, 'undone')")
            db.execute("RELEASE b")
            db.execute("ROLLBACK TO a")
            db.execute("INSERT INTO t VALUES (4, 'kept')")
        assert _keys(capture.until(2)) == [1, 4]


def test_streamed_transaction_is_whole_when_it_commits(database: PostgresDatabase) -> None:
    with streaming(database) as capture:
        database.sql(_fill(1))
        events = capture.until(_MANY)
        assert _streamed(database) == 1
    assert _keys(events) == list(range(1, _MANY + 1))
    assert [e.transaction.event_index for e in events if e.transaction] == list(range(_MANY))
    assert len({e.transaction.tx_id for e in events if e.transaction}) == 1
    assert len({e.event_id for e in events}) == _MANY


def test_streamed_transactions_come_apart_when_they_interleave(database: PostgresDatabase) -> None:
    with streaming(database) as capture:
        with database.connect() as one, database.connect() as two:
            for db in (one, two):
                db.execute("BEGIN")
            for part in range(4):
                one.execute(_fill(part * 500 + 1, 500).encode())
                two.execute(_fill(10_000 + part * 500, 500).encode())
            two.execute("COMMIT")
            one.execute("COMMIT")
        keys = _keys(capture.until(4_000))
        assert _streamed(database) == 2
    assert keys == [*range(10_000, 12_000), *range(1, 2_001)]


def test_streamed_transaction_leaves_nothing_when_it_is_rolled_back(
    database: PostgresDatabase,
) -> None:
    with streaming(database) as capture:
        with database.connect() as db:
            db.execute("BEGIN")
            db.execute(_fill(1).encode())
            capture.settle()
            db.execute("ROLLBACK")
        database.sql("INSERT INTO t VALUES (0, 'after')")
        assert _keys(capture.until(1)) == [0]
        assert _streamed(database) == 1


def test_streamed_transaction_lacks_only_the_part_that_was_rolled_back_to_a_savepoint(
    database: PostgresDatabase,
) -> None:
    with streaming(database) as capture:
        with database.connect() as db, db.transaction():
            db.execute(_fill(1).encode())
            db.execute("SAVEPOINT a")
            db.execute(_fill(10_000).encode())
            capture.settle()  # the server has sent what will be undone
            db.execute("ROLLBACK TO a")
            db.execute("INSERT INTO t VALUES (0, 'last')")
        keys = _keys(capture.until(_MANY + 1))
        assert _streamed(database) == 1
    assert keys == [*range(1, _MANY + 1), 0]


def test_large_transaction_has_its_messages_but_those_that_were_rolled_back(
    database: PostgresDatabase,
) -> None:
    """A server that sends it in progress does not say which messages a savepoint took back."""
    say = b"SELECT pg_logical_emit_message(true, 'outbox', %s)"
    with streaming(database, messages=("outbox",)) as capture:
        with database.connect() as db, db.transaction():
            db.execute(say, ["first"])
            db.execute(_fill(1).encode())
            db.execute("SAVEPOINT a")
            db.execute(say, ["undone"])
            db.execute(_fill(10_000).encode())
            capture.settle()  # the server would have sent what will be undone
            db.execute("ROLLBACK TO a")
            db.execute(say, ["last"])
        events = capture.until(_MANY + 2, max_events=500)
        assert _streamed(database) == 0
    first, *rows, last = events
    said = [event.after["content"] for event in (first, last) if event.after]
    assert [b64decode(text) for text in said] == [b"first", b"last"]
    assert _keys(rows) == list(range(1, _MANY + 1))
    assert [e.transaction.event_index for e in events if e.transaction] == list(range(_MANY + 2))


def test_streamed_rows_keep_their_shape_when_a_change_of_columns_is_rolled_back(
    database: PostgresDatabase,
) -> None:
    with streaming(database) as capture:
        with database.connect() as db, db.transaction():
            db.execute(_fill(1).encode())
            db.execute("SAVEPOINT a")
            db.execute("ALTER TABLE t ADD COLUMN extra int DEFAULT 7")
            db.execute(_fill(10_000).encode())
            db.execute("ROLLBACK TO a")
            db.execute(_fill(20_000).encode())
        events = capture.until(2 * _MANY)
    rows = [event.after for event in events if event.table == "t"]
    assert [row["id"] for row in rows if row] == [*range(1, 2_001), *range(20_000, 22_000)]
    assert {tuple(row) for row in rows if row} == {("id", "v")}


def test_prepared_transaction_comes_once_and_where_it_was_committed(
    database: PostgresDatabase,
) -> None:
    config, log = publish(database), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        database.sql("BEGIN; INSERT INTO t VALUES (1, 'x'); PREPARE TRANSACTION 'kept'")
        database.sql("BEGIN; INSERT INTO t VALUES (2, 'x'); PREPARE TRANSACTION 'undone'")
        database.sql("INSERT INTO t VALUES (3, 'between')")
        assert _keys(capture.until(1)) == [3]
    database.sql("COMMIT PREPARED 'kept'")
    database.sql("ROLLBACK PREPARED 'undone'")
    with capturing(config, log) as capture:
        assert _keys(capture.until(2)) == [3, 1]


def test_cascade_is_part_of_its_transaction(database: PostgresDatabase) -> None:
    database.sql(
        "CREATE TABLE child (id int PRIMARY KEY, t int REFERENCES t ON DELETE CASCADE);"
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'); INSERT INTO child VALUES (10, 1), (20, 2)"
    )
    with capturing(publish(database)) as capture:
        capture.until(4)
        database.sql("DELETE FROM t WHERE id = 1")
        events = capture.until(6)
    assert {event.table for event in events[4:]} == {"t", "child"}
    assert len({event.transaction.tx_id for event in events[4:] if event.transaction}) == 1
    assert replay(events)["child"] == {(20,): {"id": 20, "t": 2}}
