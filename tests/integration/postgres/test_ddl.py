"""Tables that are altered, dropped and made while capture runs."""

from __future__ import annotations

import time

import pytest

from headwater.event import Event, Operation, Position
from headwater.source.postgres import PostgresSource
from headwater.source.postgres.server.install import install
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import capturing, publish, replay


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
    with capturing(publish(postgres_database)) as capture:
        capture.settle()
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
    with capturing(publish(postgres_database)) as capture:
        capture.settle()
        postgres_database.sql("INSERT INTO t VALUES (1, 'x')")
        capture.until(1)
        postgres_database.sql("ALTER TABLE t RENAME COLUMN a TO b; INSERT INTO t VALUES (2, 'y')")
        events = capture.until(3)
    assert _changes_of_shape(events) == [("t__ddl_events", "ALTER_TABLE", "")]
    assert events[-1].after == {"id": 2, "b": "y"}


def test_ids_are_the_same_whether_the_old_shape_was_seen_or_not(
    postgres_database: PostgresDatabase,
) -> None:
    """INV-8: only a process that saw the old shape tells of its change."""
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
    assert len(_changes_of_shape(both)) == 1
    assert _changes_of_shape(second) == []
    inserts = [event for event in both if event.op is Operation.INSERT]
    assert [event.event_id for event in inserts[1:]] == [event.event_id for event in second]


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
