"""Rows still owed after a crash come beside the stream, and fit where they stand in the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from threading import Thread
from typing import Any

import psycopg
import pytest

from headwater.contract import Phase
from headwater.event import Operation
from headwater.source.postgres import PostgresSourceConfig
from headwater.source.postgres.lsn import parse_lsn
from headwater.source.postgres.tables.watermark import WaitingChunk, read_waiting
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase, PostgresServers
from tests.integration.postgres.capturing import Rows, capturing, ops, publish, replay

_ROWS = 40
_COLUMNS = ("id", "pad", "n", "body")
# As PostgreSQL is built, unless told otherwise.
_PAGE, _PAGE_HEADER = 8192, 24
_MESSAGE = 400
_TABLE = "CREATE TABLE t (id int PRIMARY KEY, pad text, n int, body text)"
# Long enough to be stored beside the row: the stream leaves it out where it did not change.
_LONG = "(SELECT string_agg(md5((i * 1000 + j)::text), '') FROM generate_series(1, 100) j)"


def _interrupted(database: PostgresDatabase) -> tuple[PostgresSourceConfig, MemoryLog]:
    """A log that has three of ten pages, and lost the snapshot they came from."""
    database.sql(_TABLE)
    database.sql(
        f"INSERT INTO t SELECT i, repeat('x', 1800), 0, {_LONG} FROM generate_series(1, {_ROWS}) i"
    )
    config, log = publish(database, chunk_rows=1), MemoryLog()
    with capturing(config, log) as capture:
        chunks = 0
        while chunks < 3:
            batch = capture.step(timeout_s=5)
            chunks += batch is not None and batch.phase is Phase.SNAPSHOT
    assert 0 < log.head < _ROWS
    return config, log


def _differences(database: PostgresDatabase, rows: Rows) -> list[int]:
    """The keys whose row is missing, extra or other than in the database."""
    found = database.sql(f"SELECT {', '.join(_COLUMNS)} FROM t")
    truth = {(row[0],): dict(zip(_COLUMNS, row, strict=True)) for row in found}
    held = rows["t"]
    return sorted(key for (key,) in held.keys() | truth if held.get((key,)) != truth.get((key,)))


def _settled(config: PostgresSourceConfig, log: MemoryLog, max_events: int = 100) -> Rows:
    with capturing(config, log) as capture:
        capture.until(0, max_events)
        assert capture.place.snapshot is None, "rows are still owed"
        return replay(list(log.events()))


def test_owed_rows_are_read_when_nothing_has_changed(postgres_database: PostgresDatabase) -> None:
    config, log = _interrupted(postgres_database)
    assert _differences(postgres_database, _settled(config, log)) == []
    assert log.head == _ROWS
    assert _differences(postgres_database, _settled(config, log)) == []
    assert log.head == _ROWS


@pytest.mark.parametrize("max_events", [1, 7, 100])
def test_owed_rows_are_as_the_log_says_when_they_changed_meanwhile(
    postgres_database: PostgresDatabase, max_events: int
) -> None:
    config, log = _interrupted(postgres_database)
    postgres_database.sql("UPDATE t SET n = n + 1")
    for key in range(1, _ROWS, 3):
        postgres_database.sql("UPDATE t SET n = n + 1 WHERE id = %s", key)
        postgres_database.sql("DELETE FROM t WHERE id = %s", key + 1)
        postgres_database.sql("UPDATE t SET id = -id, pad = pad || '.' WHERE id = %s", key + 2)
    rows = _settled(config, log, max_events)
    assert _differences(postgres_database, rows) == []


@pytest.mark.parametrize("max_events", [1, 100])
def test_long_values_arrive_when_owed_rows_are_updated_all_the_time(
    postgres_database: PostgresDatabase, max_events: int
) -> None:
    """An update without the long value must not take the place of the row that has it."""
    config, log = _interrupted(postgres_database)
    with capturing(config, log) as capture:
        for turn in range(40):
            postgres_database.sql("UPDATE t SET n = n + 1 WHERE id %% 5 = %s", turn % 5)
            capture.step(max_events, 0.05)
        capture.until(0, max_events)
        events = list(log.events())
    assert any(event.unavailable_columns == ("body",) for event in events)
    assert _differences(postgres_database, replay(events)) == []


def test_long_values_arrive_when_every_owed_row_is_updated_just_after_it_was_read(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chunk's snapshot does not see the update, and the log has the update first."""
    config, log = _interrupted(postgres_database)

    def raced(*given: Any) -> WaitingChunk:
        chunk = read_waiting(*given)
        postgres_database.sql("UPDATE t SET n = n + 1")
        ((lsn,),) = postgres_database.sql("SELECT pg_current_wal_insert_lsn()::text")
        return replace(chunk, until=parse_lsn(lsn))

    monkeypatch.setattr("headwater.source.postgres.backfill.read_waiting", raced)
    assert _differences(postgres_database, _settled(config, log)) == []


def _end_of_a_page(admin: psycopg.Connection) -> None:
    """Fill the page of the server's log at which the next record would be written."""

    def written() -> int:
        row = admin.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
        assert row is not None
        return int(row[0])

    overhead = 0
    while (before := written()) % _PAGE != _PAGE_HEADER:
        room = _PAGE - before % _PAGE
        size = room - overhead if overhead and room > 2 * _MESSAGE else _MESSAGE
        admin.execute("SELECT pg_logical_emit_message(false, 'fill', repeat('x', %s))", (size,))
        if not overhead and room > 2 * _MESSAGE:
            overhead = written() - before - size


def test_owed_rows_come_when_the_servers_log_stands_at_the_end_of_a_page(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next record begins behind the new page's header, where no reader of the log gets yet."""
    config, log = _interrupted(postgres_database)

    def at_the_end(*given: Any) -> WaitingChunk:
        if not ends:
            _end_of_a_page(admin)
        chunk = read_waiting(*given)
        ends.append(chunk.until % _PAGE)
        return chunk

    ends: list[int] = []
    monkeypatch.setattr("headwater.source.postgres.backfill.read_waiting", at_the_end)
    with postgres_database.connect("postgres") as admin:
        assert _differences(postgres_database, _settled(config, log)) == []
    assert ends[0] == 0


@pytest.mark.parametrize("restarted", [False, True])
def test_owed_rows_wait_when_the_stream_is_ahead_of_what_others_see(
    postgres_servers: PostgresServers, restarted: bool
) -> None:
    """A commit that waits for a standby is in the stream, and invisible to every snapshot."""
    server = postgres_servers.start()
    database = postgres_servers.database(server)
    config, log = _interrupted(database)
    server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    server.sql("SELECT pg_reload_conf()")
    writer = Thread(target=database.sql, args=("UPDATE t SET n = n + 1",))
    writer.start()
    try:
        with capturing(config, log) as capture:
            while Operation.UPDATE not in ops(list(log.events())):
                capture.step()
            if restarted:  # and remembers nothing of what it handed on
                capture.open_again()
            capture.step()  # a chunk that was read before the commit came is completed with it
            head = log.head
            for _ in range(3):
                capture.step()
            assert log.head == head
            assert capture.place.snapshot is not None
    finally:
        server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        server.sql("SELECT pg_reload_conf()")
        writer.join()
    assert _differences(database, _settled(config, log)) == []


def _vacuum(database: PostgresDatabase) -> None:
    database.sql("DELETE FROM t WHERE id <= 20")
    database.sql("VACUUM (FULL) t")


def _cluster(database: PostgresDatabase) -> None:
    database.sql("DELETE FROM t WHERE id <= 20")
    database.sql("CLUSTER t USING t_pkey")


def _truncate(database: PostgresDatabase) -> None:
    database.sql("TRUNCATE t; INSERT INTO t VALUES (7, 'again', 1, NULL)")


@pytest.mark.parametrize("disturb", [_vacuum, _cluster, _truncate])
def test_no_row_is_missing_or_extra_when_rows_lie_elsewhere_now(
    postgres_database: PostgresDatabase, disturb: Callable[[PostgresDatabase], None]
) -> None:
    """A rebuilt table has its rows in other pages, with their old age."""
    config, log = _interrupted(postgres_database)
    disturb(postgres_database)
    assert _differences(postgres_database, _settled(config, log)) == []


def test_owed_rows_have_the_columns_of_now_when_the_table_has_changed(
    postgres_database: PostgresDatabase,
) -> None:
    config, log = _interrupted(postgres_database)
    postgres_database.sql("ALTER TABLE t DROP COLUMN body")
    postgres_database.sql("ALTER TABLE t RENAME COLUMN n TO number")
    with capturing(config, log) as capture:
        events = capture.until(_ROWS)
        reads = [event for event in events if event.op is Operation.READ]
        shapes = {tuple(event.after or {}) for event in reads}
        assert {event.schema_id for event in events} <= log.schemas.keys()
    assert shapes == {("id", "pad", "n", "body"), ("id", "pad", "number")}
    assert {event.after["id"] for event in reads if event.after} == set(range(1, _ROWS + 1))


def test_capture_goes_on_when_a_table_with_owed_rows_is_dropped(
    postgres_database: PostgresDatabase,
) -> None:
    config, log = _interrupted(postgres_database)
    postgres_database.sql("CREATE TABLE other (id int PRIMARY KEY)")
    publish(postgres_database, chunk_rows=1)
    postgres_database.sql("DROP TABLE t; INSERT INTO other VALUES (1)")
    with capturing(config, log) as capture:
        head = capture.writer.head
        assert capture.until(head + 1)[-1].after == {"id": 1}


def test_rows_without_a_key_stand_once_when_some_came_while_rows_were_owed(
    postgres_database: PostgresDatabase,
) -> None:
    """Nothing tells a row that was read from the same row in the stream, so neither may be both."""
    postgres_database.sql(
        "CREATE TABLE t (pad text, n int); ALTER TABLE t REPLICA IDENTITY FULL;"
        "INSERT INTO t SELECT repeat('x', 1800), i FROM generate_series(1, 40) i"
    )
    config, log = publish(postgres_database, chunk_rows=1), MemoryLog()
    with capturing(config, log) as capture:
        while log.head < 8:
            capture.step(timeout_s=5)
    postgres_database.sql("INSERT INTO t VALUES ('new', 100), ('new', 100)")
    with capturing(config, log) as capture:
        events = capture.until(42)
    numbers = Counter(event.after["n"] for event in events if event.after)
    assert numbers == Counter([*range(1, 41), 100, 100])
