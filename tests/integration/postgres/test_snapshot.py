"""The first load: every row that was there, once, and the stream fits on without a seam."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

from headwater.contract import Phase
from headwater.event import Operation
from headwater.source.postgres.server.slot import list_slots
from headwater.source.postgres.tables import chunk
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import Capture, capturing, ops, publish, replay

# About four rows fill a page, and a chunk is a page.
_TABLE = "CREATE TABLE t (id int PRIMARY KEY, pad text, n int)"
_ROWS = 40


def _fill(database: PostgresDatabase) -> None:
    database.sql(_TABLE)
    database.sql(f"INSERT INTO t SELECT i, repeat('x', 1800), 0 FROM generate_series(1, {_ROWS}) i")


def _numbers(database: PostgresDatabase) -> dict[tuple[Any, ...], int]:
    return {(key,): n for key, n in database.sql("SELECT id, n FROM t")}


def _captured(capture: Capture, head: int) -> dict[tuple[Any, ...], int]:
    return {key: row["n"] for key, row in replay(capture.until(head))["t"].items()}


def _first_chunks(capture: Capture, count: int) -> None:
    while count:
        batch = capture.step(timeout_s=5)
        if batch is not None and batch.phase is Phase.SNAPSHOT:
            count -= 1


def test_rows_stand_once_in_the_order_of_tables_when_nothing_is_written(
    postgres_database: PostgresDatabase,
) -> None:
    _fill(postgres_database)
    postgres_database.sql("CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1)")
    with capturing(publish(postgres_database, chunk_rows=1)) as capture:
        events = capture.until(_ROWS + 1)
    assert set(ops(events)) == {Operation.READ}
    assert [event.table for event in events] == ["a", *["t"] * _ROWS]
    assert len({event.event_id for event in events}) == _ROWS + 1
    last = [event.snapshot.is_last_chunk for event in events if event.snapshot]
    assert last == sorted(last)
    assert last[-1]


def test_progress_tells_what_is_left_of_all_tables(postgres_database: PostgresDatabase) -> None:
    _fill(postgres_database)
    postgres_database.sql("CREATE TABLE a (id int PRIMARY KEY); INSERT INTO a VALUES (1), (2)")
    postgres_database.sql("ANALYZE a, t")
    left: list[int | None] = []
    with capturing(publish(postgres_database, chunk_rows=1)) as capture:
        while not left or left[-1]:
            batch = capture.step(timeout_s=5)
            if batch is not None and batch.progress is not None:
                left.append(batch.progress.rows_left)
    assert left[0] == _ROWS
    assert left == sorted(left, key=lambda rows: -(rows or 0))
    assert left[-1] == 0


def test_chunks_are_small_when_large_values_lie_outside_of_the_pages(
    postgres_database: PostgresDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk, "_CHUNK_BYTES", 1024 * 1024)
    postgres_database.sql("CREATE TABLE t (id int PRIMARY KEY, pad text, body text)")
    postgres_database.sql(
        "ALTER TABLE t ALTER body SET STORAGE EXTERNAL; INSERT INTO t SELECT i, repeat('x', 1800),"
        f" repeat('y', 200000) FROM generate_series(1, {_ROWS}) i"
    )
    postgres_database.sql("ANALYZE t")
    with capturing(publish(postgres_database)) as capture:
        events = capture.until(_ROWS)
    rows_of = Counter(event.snapshot.chunk_index for event in events if event.snapshot)
    assert sum(rows_of.values()) == _ROWS
    assert max(rows_of.values()) <= 8


def test_stream_fits_on_when_rows_change_while_tables_are_read(
    postgres_database: PostgresDatabase,
) -> None:
    _fill(postgres_database)
    with capturing(publish(postgres_database, chunk_rows=1)) as capture:
        _first_chunks(capture, 2)
        postgres_database.sql(
            "UPDATE t SET n = 1 WHERE id % 3 = 0; DELETE FROM t WHERE id % 5 = 0;"
            "UPDATE t SET id = -id WHERE id % 7 = 0; INSERT INTO t VALUES (100, 'new', 1)"
        )
        changes = 13 + 8 + 4 + 1
        assert _captured(capture, _ROWS + changes) == _numbers(postgres_database)
    assert capture.writer.head == _ROWS + changes


def test_transaction_that_is_open_at_the_start_is_in_the_stream(
    postgres_database: PostgresDatabase,
) -> None:
    """Making the slot waits for it, so it is in the rows; either way it is there once."""
    _fill(postgres_database)
    config = publish(postgres_database, chunk_rows=1)
    with postgres_database.connect() as db:
        db.execute("BEGIN")
        db.execute("INSERT INTO t VALUES (100, 'open', 1)")
        done = threading.Timer(0.5, lambda: db.execute("COMMIT"))
        done.start()
        with capturing(config) as capture:
            assert _captured(capture, _ROWS + 1) == _numbers(postgres_database)
        done.join()
    assert capture.writer.head == _ROWS + 1


def test_first_load_starts_over_when_it_ends_before_anything_was_kept(
    postgres_database: PostgresDatabase,
) -> None:
    _fill(postgres_database)
    config, log = publish(postgres_database), MemoryLog()
    with capturing(config, log) as capture:
        capture.step()  # the decision
        assert capture.source.read(10, 5) is not None  # read, and never kept
    postgres_database.sql("DELETE FROM t WHERE id = 1")
    with capturing(config, log) as capture:
        assert _captured(capture, _ROWS - 1) == _numbers(postgres_database)
    assert set(ops(list(log.events()))) == {Operation.READ}
    with postgres_database.connect("postgres") as db:
        mine = [slot for slot in list_slots(db) if slot.database == postgres_database.name]
    assert len(mine) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE t ALTER COLUMN n TYPE bigint",
        "VACUUM (FULL) t",
        "CLUSTER t USING t_pkey",
        "ALTER TABLE t ADD COLUMN extra int",
        "ALTER TABLE t DROP COLUMN pad",
    ],
)
def test_no_row_is_missing_when_a_table_is_rebuilt_before_it_is_read(
    postgres_database: PostgresDatabase, statement: str
) -> None:
    """A rebuilt table looks empty, or in another order, to a snapshot from before."""
    postgres_database.sql("CREATE TABLE a (id int PRIMARY KEY, pad text, n int)")
    postgres_database.sql(
        "INSERT INTO a SELECT i, repeat('x', 1800), 0 FROM generate_series(1, 80) i"
    )
    _fill(postgres_database)
    postgres_database.sql("DELETE FROM t WHERE id % 2 = 0")
    config = publish(postgres_database, chunk_rows=1, snapshot_workers=1)
    with capturing(config) as capture:
        _first_chunks(capture, 2)  # of table a
        rebuilding = threading.Thread(target=postgres_database.sql, args=(statement,))
        rebuilding.start()
        rebuilding.join(2)
        assert _captured(capture, 80 + _ROWS // 2) == _numbers(postgres_database)
    rebuilding.join()
