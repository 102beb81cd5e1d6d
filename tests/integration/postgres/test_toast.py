"""Long values that an update leaves alone: the server does not send them, and nobody makes them up.

A peer writes them as null, and so erases them wherever its events are applied.
"""

from __future__ import annotations

from headwater.event import Operation
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import replay, streaming

# Random enough that the server can neither compress it nor keep it in the row.
_LONG = "(SELECT string_agg(md5(i::text || {seed}::text), '') FROM generate_series(1, 300) i)"
_TABLE = "CREATE TABLE t (id int PRIMARY KEY, body text, n int, note text)"


def _insert(database: PostgresDatabase, key: int) -> None:
    database.sql(f"INSERT INTO t VALUES ({key}, {_LONG.format(seed=key)}, 0, NULL)")


def _truth(database: PostgresDatabase) -> dict[tuple[int], dict[str, object]]:
    rows = database.sql("SELECT id, body, n, note FROM t")
    return {(row[0],): dict(zip(("id", "body", "n", "note"), row, strict=True)) for row in rows}


def test_unchanged_long_value_is_listed_and_never_null(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(_TABLE)
    with streaming(postgres_database) as capture:
        _insert(postgres_database, 1)
        postgres_database.sql("UPDATE t SET n = 5")
        events = capture.until(2)
    update = events[1]
    assert update.after == {"id": 1, "n": 5, "note": None}
    assert update.unavailable_columns == ("body",)
    assert replay(events)["t"] == _truth(postgres_database)


def test_long_value_is_sent_when_it_changes_or_becomes_null(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(_TABLE)
    with streaming(postgres_database) as capture:
        _insert(postgres_database, 1)
        postgres_database.sql("UPDATE t SET body = body || '.'; UPDATE t SET body = NULL")
        events = capture.until(3)
    assert not any(event.unavailable_columns for event in events)
    assert [event.op for event in events[1:]] == [Operation.UPDATE] * 2
    assert events[2].after == {"id": 1, "body": None, "n": 0, "note": None}


def test_unchanged_long_value_is_taken_from_the_before_image_when_the_identity_is_full(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(f"{_TABLE}; ALTER TABLE t REPLICA IDENTITY FULL")
    with streaming(postgres_database) as capture:
        _insert(postgres_database, 1)
        postgres_database.sql("UPDATE t SET n = 5")
        events = capture.until(2)
    assert events[1].unavailable_columns == ()
    assert {(1,): events[1].after} == _truth(postgres_database)


def test_mixed_batch_lists_columns_of_the_rows_that_lack_them_only(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(_TABLE)
    with streaming(postgres_database) as capture:
        _insert(postgres_database, 1)
        postgres_database.sql("INSERT INTO t VALUES (2, 'short', 0, NULL); UPDATE t SET n = 9")
        events = capture.until(4)
    by_key = {event.after["id"]: event for event in events[2:] if event.after}
    assert by_key[1].unavailable_columns == ("body",)
    assert by_key[2].unavailable_columns == ()
    assert replay(events)["t"] == _truth(postgres_database)
