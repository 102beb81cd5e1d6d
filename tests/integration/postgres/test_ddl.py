"""Tables that are altered, dropped and made, while capture runs and while it does not."""

from __future__ import annotations

import time

import pytest

from headwater.event import Event, Operation, Position
from headwater.source.postgres import PostgresSource
from headwater.source.postgres.place import Place
from headwater.source.postgres.server.install import install
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import capturing, publish, replay, streaming


def _changes_of_shape(events: list[Event]) -> list[tuple[str, str, str]]:
    return [
        (event.table, (event.after or {})["ddl_type"], (event.after or {})["statement"])
        for event in events
        if event.op is Operation.SCHEMA_CHANGE
    ]


def test_statement_is_told_when_the_event_triggers_are_installed(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE TABLE t (id integer PRIMARY KEY, a text)")
    with postgres_database.connect("postgres") as superuser:
        assert install(superuser).ddl_messages
    with streaming(postgres_database) as capture:
        postgres_database.sql("INSERT INTO t VALUES (1, 'x')")
        postgres_database.sql("ALTER TABLE t ADD COLUMN b integer")
        postgres_database.sql("INSERT INTO t VALUES (2, 'y', 3)")
        postgres_database.sql("DROP TABLE t")
        events = capture.until(3)
    told = _changes_of_shape(events)
    assert ("t__ddl_events", "DROP_TABLE", "DROP TABLE t") in told
    assert any(kind == "ALTER_TABLE" and "ADD COLUMN b" in text for _, kind, text in told)
    assert [event.after for event in events if event.op is Operation.INSERT] == [
        {"id": 1, "a": "x"},
        {"id": 2, "a": "y", "b": 3},
    ]


def test_change_of_shape_is_told_when_nothing_is_installed(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE TABLE t (id integer PRIMARY KEY, a text)")
    with streaming(postgres_database) as capture:
        postgres_database.sql("INSERT INTO t VALUES (1, 'x')")
        capture.until(1)
        postgres_database.sql("ALTER TABLE t RENAME COLUMN a TO b; INSERT INTO t VALUES (2, 'y')")
        events = capture.until(3)
    assert _changes_of_shape(events) == [("t__ddl_events", "ALTER_TABLE", "")]
    assert events[-1].after == {"id": 2, "b": "y"}


def test_change_of_shape_is_told_once_when_it_came_while_nobody_captured(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        "CREATE TABLE t (id integer PRIMARY KEY, a text); INSERT INTO t VALUES (1, 'x')"
    )
    config, log = publish(postgres_database), MemoryLog()
    with capturing(config, log) as capture:  # the snapshot is all that knows the old shape
        capture.until(1)
    postgres_database.sql("ALTER TABLE t ADD COLUMN b integer; INSERT INTO t VALUES (2, 'y', 3)")
    with capturing(config, log) as capture:
        events = capture.until(3)
    assert [event.op for event in events[1:]] == [Operation.SCHEMA_CHANGE, Operation.INSERT]
    result = (events[1].after or {})["result_schema"]
    assert [column["name"] for column in result["columns"]] == ["id", "a", "b"]
    assert events[1].schema_id == events[2].schema_id
    postgres_database.sql("INSERT INTO t VALUES (3, 'z', 4)")
    for _ in range(2):
        with capturing(config, log) as capture:
            assert len(_changes_of_shape(capture.until(4))) == 1


def test_change_of_shape_is_told_when_it_is_taken_back_while_nobody_captured(
    postgres_database: PostgresDatabase,
) -> None:
    """The history holds the shape already; what counts is how the rows looked last."""
    postgres_database.sql("CREATE TABLE t (id integer PRIMARY KEY, a text)")
    config, log = publish(postgres_database), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        postgres_database.sql("INSERT INTO t VALUES (1, 'x')")
        postgres_database.sql("ALTER TABLE t ADD COLUMN b int; INSERT INTO t VALUES (2, 'y', 3)")
        capture.until(3)
    postgres_database.sql("ALTER TABLE t DROP COLUMN b; INSERT INTO t VALUES (3, 'z')")
    with capturing(config, log) as capture:
        assert len(_changes_of_shape(capture.until(5))) == 2
    postgres_database.sql("INSERT INTO t VALUES (4, 'w')")
    with capturing(config, log) as capture:
        assert len(_changes_of_shape(capture.until(6))) == 2


@pytest.mark.parametrize(
    "table",
    [
        "t (id int PRIMARY KEY, v numeric(8,2), w varchar(9)); ALTER TABLE t REPLICA IDENTITY FULL",
        "t (id int NOT NULL UNIQUE); ALTER TABLE t REPLICA IDENTITY USING INDEX t_id_key",
        "t (id int PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE t1 PARTITION OF t DEFAULT",
        "t (id int PRIMARY KEY, o int, g int GENERATED ALWAYS AS (1) STORED); ALTER TABLE t DROP o",
    ],
)
def test_nothing_is_told_when_the_stream_describes_a_table_as_the_snapshot_read_it(
    postgres_database: PostgresDatabase, table: str
) -> None:
    postgres_database.sql(f"CREATE TABLE {table}; INSERT INTO t (id) VALUES (1)")
    config, log = publish(postgres_database), MemoryLog()
    for last in (2, 3):
        with capturing(config, log) as capture:
            capture.settle()
            postgres_database.sql(f"INSERT INTO t (id) VALUES ({last})")
            assert not _changes_of_shape(capture.until(last))


def test_changes_of_shape_have_ids_of_their_own_when_one_event_follows_several(
    postgres_database: PostgresDatabase,
) -> None:
    for table in ("t", "u"):
        postgres_database.sql(f"CREATE TABLE {table} (id int PRIMARY KEY)")
    config, log = publish(postgres_database), MemoryLog()
    with capturing(config, log) as capture:
        capture.settle()
        postgres_database.sql("INSERT INTO t VALUES (1); INSERT INTO u VALUES (1)")
        capture.until(2)
    postgres_database.sql("ALTER TABLE t ADD COLUMN a int; ALTER TABLE u ADD COLUMN a int")
    postgres_database.sql("TRUNCATE t, u")
    with capturing(config, log) as capture:
        events = capture.until(6)
    assert len(_changes_of_shape(events)) == 2
    assert len({event.event_id for event in events}) == 6


def test_ids_are_the_same_whether_the_old_shape_was_known_or_not(
    postgres_database: PostgresDatabase,
) -> None:
    """INV-8: only where the old shape is known is its change told, and always in the same way."""
    postgres_database.sql("CREATE TABLE t (id integer PRIMARY KEY, a text)")
    config = publish(postgres_database)
    with capturing(config) as capture:
        capture.settle()
        resume = capture.writer.position
    postgres_database.sql("INSERT INTO t VALUES (1, 'x')")
    postgres_database.sql(
        "BEGIN; ALTER TABLE t ADD COLUMN b integer; INSERT INTO t VALUES (2, 'y', 3);"
        " INSERT INTO t VALUES (3, 'z', 4); COMMIT"
    )
    both, after_first = _read(PostgresSource(config), resume, 3)
    second, _ = _read(PostgresSource(config), after_first, 2)
    unaware = Place.decode(after_first).knowing({}).encode()
    third, _ = _read(PostgresSource(config), unaware, 2)
    assert len(_changes_of_shape(both)) == 1
    assert [event.event_id for event in both[1:]] == [event.event_id for event in second]
    assert _changes_of_shape(third) == []
    inserts = [event for event in both if event.op is Operation.INSERT]
    assert [event.event_id for event in inserts[1:]] == [event.event_id for event in third]


def _read(
    source: PostgresSource, resume: Position | None, inserts: int
) -> tuple[list[Event], Position]:
    """Events from a position on, and the position after the first; nothing is confirmed."""
    source.open(resume)
    events: list[Event] = []
    positions: list[Position] = []
    while sum(event.op is Operation.INSERT for event in events) < inserts:
        batch = source.read(1, 20.0)
        assert batch is not None
        events += batch.events
        positions += [batch.position] if len(batch.events) else []
    source.close()
    return events, positions[0]


@pytest.mark.parametrize("rows", [0, 50])
def test_table_that_comes_later_is_captured_with_the_rows_it_already_has(
    postgres_database: PostgresDatabase, rows: int
) -> None:
    postgres_database.sql("CREATE TABLE t (id integer PRIMARY KEY)")
    config = postgres_database.config("postgres", heartbeat_interval_s=0.1)
    with capturing(config) as capture:
        capture.settle()
        postgres_database.sql("CREATE TABLE later (id integer PRIMARY KEY, a text)")
        postgres_database.sql(
            f"INSERT INTO later SELECT g, 'old' FROM generate_series(1, {rows}) g"
        )
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            capture.step()
            published = postgres_database.sql(
                "SELECT 1 FROM pg_publication_tables WHERE tablename = 'later'", user="postgres"
            )
            if published:
                break
        postgres_database.sql("INSERT INTO later VALUES (1000, 'new')")
        events = capture.until(rows + 1)
    held = replay(events)["later"]
    assert len(held) == rows + 1
    assert held[1000,]["a"] == "new"
