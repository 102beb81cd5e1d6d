"""How rows are named: every replica identity, every kind of key, and columns that nobody sends."""

from __future__ import annotations

import pytest

from headwater.event import Operation
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import afters, capturing, ops, publish, replay, streaming


def test_update_without_a_before_image_is_valid_when_the_key_stays(
    postgres_database: PostgresDatabase,
) -> None:
    """A peer refuses such an update, although the default replica identity sends no other."""
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    with streaming(postgres_database) as capture:
        postgres_database.sql("INSERT INTO t VALUES (1, 'a'); UPDATE t SET v = 'b'")
        _, update = capture.until(2)
    assert update.op is Operation.UPDATE
    assert (update.before, update.after) == (None, {"id": 1, "v": "b"})
    assert update.primary_key == ("id",)


def test_update_has_a_key_only_before_image_when_the_key_moves(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    with streaming(postgres_database) as capture:
        postgres_database.sql("INSERT INTO t VALUES (1, 'a'); UPDATE t SET id = 7")
        events = capture.until(2)
    assert events[1].before == {"id": 1}
    assert events[1].before_is_key_only
    assert replay(events) == {"t": {(7,): {"id": 7, "v": "a"}}}


def test_before_images_are_whole_when_the_identity_is_full(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, v text); ALTER TABLE t REPLICA IDENTITY FULL"
    )
    with streaming(postgres_database) as capture:
        postgres_database.sql("INSERT INTO t VALUES (1, 'a'); UPDATE t SET v = 'b'; DELETE FROM t")
        events = capture.until(3)
    assert [event.before for event in events] == [None, {"id": 1, "v": "a"}, {"id": 1, "v": "b"}]
    assert not any(event.before_is_key_only for event in events)
    assert [event.primary_key for event in events] == [("id",)] * 3


def test_index_columns_are_the_key_when_the_identity_is_an_index(
    postgres_database: PostgresDatabase,
) -> None:
    postgres_database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL, v int);"
        "CREATE UNIQUE INDEX by_code ON t (code);"
        "ALTER TABLE t REPLICA IDENTITY USING INDEX by_code"
    )
    with streaming(postgres_database) as capture:
        postgres_database.sql(
            "INSERT INTO t VALUES (1, 'a', 0), (2, 'b', 0); UPDATE t SET code = 'z' WHERE id = 1;"
            "DELETE FROM t WHERE id = 2"
        )
        events = capture.until(4)
    assert [event.primary_key for event in events] == [("code",)] * 4
    assert [event.before for event in events[2:]] == [{"code": "a"}, {"code": "b"}]
    assert replay(events) == {"t": {("z",): {"id": 1, "code": "z", "v": 0}}}


def test_keys_at_and_below_zero_are_captured_by_snapshot_and_stream(
    postgres_database: PostgresDatabase,
) -> None:
    """A peer's snapshot begins above zero and never sees the others."""
    lowest = -(2**63)
    postgres_database.sql("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
    postgres_database.sql(f"INSERT INTO t VALUES (0, 'old'), (-1, 'old'), ({lowest}, 'old')")
    with capturing(publish(postgres_database)) as capture:
        assert set(replay(capture.until(3))["t"]) == {(0,), (-1,), (lowest,)}
        postgres_database.sql(
            "INSERT INTO t VALUES (-5, 'new'); UPDATE t SET v = 'new' WHERE id = 0;"
            "DELETE FROM t WHERE id = -1"
        )
        events = capture.until(6)
    assert replay(events)["t"] == {
        (lowest,): {"id": lowest, "v": "old"},
        (0,): {"id": 0, "v": "new"},
        (-5,): {"id": -5, "v": "new"},
    }


def test_every_column_of_a_composite_key_stands_in_key_and_before_image(
    postgres_database: PostgresDatabase,
) -> None:
    """A peer keeps the first column only, so that rows of one order fall together (INV-10)."""
    postgres_database.sql(
        "CREATE TABLE line (v text, no int, place text, PRIMARY KEY (place, no));"
        "INSERT INTO line VALUES ('a', 1, 'x'), ('b', 2, 'x'), ('c', 1, 'y')"
    )
    with capturing(publish(postgres_database)) as capture:
        capture.until(3)
        postgres_database.sql(
            "UPDATE line SET no = 9 WHERE v = 'b'; DELETE FROM line WHERE v = 'c'"
        )
        events = capture.until(5)
    assert {event.primary_key for event in events} == {("place", "no")}
    assert [event.before for event in events[3:]] == [
        {"no": 2, "place": "x"},
        {"no": 1, "place": "y"},
    ]
    assert set(replay(events)["line"]) == {("x", 1), ("x", 9)}


def test_snapshot_and_stream_rows_agree_when_a_column_is_generated(
    postgres_database: PostgresDatabase,
) -> None:
    """A peer's snapshot has the column and its stream has not."""
    postgres_database.sql(
        "CREATE TABLE t (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, v text)"
    )
    postgres_database.sql("INSERT INTO t (id, v) VALUES (1, 'old')")
    with capturing(publish(postgres_database)) as capture:
        capture.until(1)
        postgres_database.sql("INSERT INTO t (id, v) VALUES (2, 'new')")
        events = capture.until(2)
    assert ops(events) == [Operation.READ, Operation.INSERT]
    assert afters(events) == [{"id": 1, "v": "old"}, {"id": 2, "v": "new"}]
    assert len({event.schema_id for event in events}) == 1


@pytest.mark.parametrize("snapshot", [True, False])
def test_schema_of_every_event_is_in_the_log_when_a_truncate_comes_first(
    postgres_database: PostgresDatabase, snapshot: bool
) -> None:
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY)")
    with streaming(postgres_database, snapshot=snapshot) as capture:
        postgres_database.sql("ALTER TABLE t ADD COLUMN v text; TRUNCATE t")
        events = capture.until(1)
        assert {event.schema_id for event in events} <= capture.log.schemas.keys()
