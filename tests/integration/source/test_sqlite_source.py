"""The SQLite source on real database files: gaps, schema changes, context, types, writers."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.contract import OnGap, SourceBatch
from headwater.errors import ConfigError, GapError, HeadwaterError
from headwater.event import Event, Operation, validate
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig
from tests.shop import Shop, open_shop


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return open_shop(tmp_path)


def _source(shop: Shop, **settings: object) -> SqliteSource:
    return SqliteSource(SqliteSourceConfig(path=shop.path, **settings))  # type: ignore[arg-type]


def _all(source: SqliteSource, max_events: int = 100) -> tuple[list[Event], SourceBatch]:
    """Everything that can be read now, and the last batch."""
    events: list[Event] = []
    batch = last = source.read(max_events, 0.0)
    while batch is not None:
        validate(batch.events)
        events += list(batch.events)
        last = batch
        batch = source.read(max_events, 0.0)
    assert last is not None
    return events, last


def test_snapshot_and_stream_give_the_same_image_of_a_row(shop: Shop) -> None:
    source = _source(shop)
    source.open(None)
    snapshot, _ = _all(source)
    images = {event.after["id"]: event.after for event in snapshot if event.table == "customers"}  # type: ignore[index]
    shop.run("UPDATE customers SET name = name")
    stream, _ = _all(source)
    assert {event.after["id"]: event.after for event in stream} == images  # type: ignore[index]
    assert all(event.before == event.after for event in stream)
    source.close()


def test_snapshot_resumes_at_its_chunk_when_opened_again(shop: Shop) -> None:
    """INV-3: every position on the way is a place to go on from, and no row comes twice."""
    shop.db.executemany(
        "INSERT INTO customers (id, name) VALUES (?, 'x')", [(number,) for number in range(10, 60)]
    )
    shop.db.commit()
    keys: list[object] = []
    position = None
    while True:
        source = _source(shop, chunk_rows=7)
        source.open(position)
        batch = source.read(100, 0.0)
        source.close()
        if batch is None:
            break
        keys += [(event.table, event.key()) for event in batch.events]
        position = batch.position
    assert len(keys) == len({str(key) for key in keys}) == 53 + 3


@pytest.mark.parametrize("statement", ["CREATE INDEX i ON customers (name)", "VACUUM"])
def test_snapshot_repeats_no_event_id_when_the_schema_version_moves(
    shop: Shop, statement: str
) -> None:
    """INV-8: an index and VACUUM change the version, and VACUUM may renumber hidden rowids."""
    shop.run("CREATE TABLE words (word TEXT PRIMARY KEY)")
    shop.db.executemany("INSERT INTO words VALUES (?)", [(str(n),) for n in range(40)])
    shop.db.commit()
    source = _source(shop, chunk_rows=10, tables=("words",))
    source.open(None)
    first = source.read(100, 0.0)
    assert first is not None
    shop.run(statement)
    rest, _ = _all(source)
    events = [*first.events, *rest]
    assert len({event.event_id for event in events}) == len(events)
    assert {event.after["word"] for event in events if event.after} == set(map(str, range(40)))
    source.close()


def test_changes_during_the_snapshot_end_at_the_latest_state(shop: Shop) -> None:
    source = _source(shop, chunk_rows=1)
    source.open(None)
    state: dict[object, object] = {}
    for round_number in range(30):
        shop.run(
            f"UPDATE customers SET name = 'round {round_number}' WHERE id = 2",
            f"INSERT OR REPLACE INTO customers (id, name) VALUES ({round_number % 5 + 20}, 'n')",
            f"DELETE FROM customers WHERE id = {(round_number + 2) % 5 + 20}",
        )
        batch = source.read(100, 0.0)
        if batch is None:
            break
        _replay(state, list(batch.events))
    shop.run("UPDATE customers SET balance = 9 WHERE id = 2")
    events, _ = _all(source)
    _replay(state, events)
    expected = {row[0] for row in shop.db.execute("SELECT id FROM customers")}
    assert {key[1] for key in state if key[0] == "customers"} == expected  # type: ignore[index]
    source.close()


def _replay(state: dict[object, object], events: list[Event]) -> None:
    for event in events:
        key = event.key()
        assert key is not None
        place = (event.table, *key.values())
        if event.op is Operation.DELETE:
            state.pop(place, None)
        else:
            state[place] = event.after


def test_context_marks_exactly_the_changes_of_its_bracket(shop: Shop) -> None:
    source = _source(shop, snapshot=False)
    source.open(None)
    shop.run("UPDATE customers SET balance = 1 WHERE id = 1")
    shop.run(
        """INSERT INTO _headwater_context (context) VALUES ('{"user_id": 7}')""",
        "UPDATE customers SET balance = 2 WHERE id = 1",
        "INSERT INTO _headwater_context (context) VALUES (NULL)",
    )
    shop.run("UPDATE customers SET balance = 3 WHERE id = 1")
    events, _ = _all(source, max_events=1)
    assert [event.context for event in events] == [None, {"user_id": 7}, None]
    source.close()


def test_context_that_is_no_json_object_is_kept_as_text(shop: Shop) -> None:
    source = _source(shop, snapshot=False)
    source.open(None)
    shop.run(
        "INSERT INTO _headwater_context (context) VALUES ('plain words')",
        "UPDATE customers SET balance = 2 WHERE id = 1",
        "INSERT INTO _headwater_context (context) VALUES (NULL)",
    )
    events, _ = _all(source)
    assert [event.context for event in events] == [{"text": "plain words"}]
    source.close()


def test_context_that_is_never_closed_marks_nothing(shop: Shop) -> None:
    """A wrong attribution is worse than none."""
    source = _source(shop, snapshot=False)
    source.open(None)
    shop.run(
        """INSERT INTO _headwater_context (context) VALUES ('{"user_id": 7}')""",
        "UPDATE customers SET balance = 2 WHERE id = 1",
    )
    shop.run("UPDATE customers SET balance = 3 WHERE id = 1")
    events, _ = _all(source)
    assert [event.context for event in events] == [None, None]
    source.close()


def test_group_larger_than_a_read_comes_in_pieces_that_close_once(shop: Shop) -> None:
    """INV-7: only the last piece closes, and its position is the first that may be kept."""
    source = _source(shop, snapshot=False)
    source.open(None)
    shop.db.executemany(
        "INSERT INTO customers (id, name) VALUES (?, 'x')", [(number,) for number in range(10, 35)]
    )
    shop.db.commit()
    batches = [source.read(10, 0.0) for _ in range(3)]
    assert [len(batch.events) for batch in batches if batch] == [10, 10, 5]
    closes = [batch.events.closes_transaction for batch in batches if batch]
    assert closes == [False, False, True]
    indexes = [e.transaction.event_index for b in batches if b for e in b.events if e.transaction]
    assert indexes == list(range(25))
    source.close()


@pytest.mark.parametrize("policy", list(OnGap))
def test_gap_is_met_with_the_chosen_policy_when_changes_were_pruned(
    shop: Shop, policy: OnGap
) -> None:
    """INV-9: another consumer confirmed, and so removed, what this position still needs."""
    source = _source(shop)
    source.open(None)
    _, early = _all(source)
    shop.run("UPDATE customers SET balance = 1")
    shop.run("UPDATE customers SET balance = 2")
    _, late = _all(source)
    source.confirm(late.position)
    source.close()
    again = _source(shop, on_gap=policy)
    if policy is OnGap.HALT:
        with pytest.raises(GapError) as caught:
            again.open(early.position)
        assert caught.value.code == "source-gap"
        return
    again.open(early.position)
    if policy is OnGap.ACCEPT:
        accepted = again.read(100, 0.0)
        assert accepted is not None
        assert len(accepted.events) == 0
        again.open(accepted.position)
    else:
        ops = [event.op for event in _all(again)[0]]
        assert ops[:2] == [Operation.TRUNCATE, Operation.TRUNCATE]
        assert ops[2:] == [Operation.READ] * 6
    again.close()


def test_restored_database_is_a_gap(shop: Shop, tmp_path: Path) -> None:
    """INV-9: the file was replaced by an older copy of itself."""
    _source(shop).identity  # noqa: B018 - installs capture
    backup = sqlite3.connect(tmp_path / "backup.db")
    shop.db.backup(backup)
    backup.close()
    source = _source(shop)
    source.open(None)
    shop.run("UPDATE customers SET balance = 1")
    _, last = _all(source)
    source.close()
    restored = SqliteSource(SqliteSourceConfig(path=tmp_path / "backup.db"))
    with pytest.raises(GapError, match="replaced or restored"):
        restored.open(last.position)


def test_rebuilt_table_is_a_gap_and_an_added_column_is_not(shop: Shop) -> None:
    """INV-9: a rebuilt table lost its triggers; what happened to it meanwhile is unknown."""
    source = _source(shop)
    source.open(None)
    _all(source)
    shop.run("ALTER TABLE customers ADD COLUMN city TEXT DEFAULT 'Delft'")
    shop.run("UPDATE customers SET city = 'Cork' WHERE id = 1")
    events, last = _all(source)
    assert [event.op for event in events if event.op is Operation.SCHEMA_CHANGE]
    reads = [event.after for event in events if event.op is Operation.READ]
    assert {row["id"]: row["city"] for row in reads if row}[1] == "Cork"
    source.close()
    shop.run(
        "CREATE TABLE fresh (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO fresh SELECT id, name FROM customers",
        "PRAGMA foreign_keys = OFF",
        "DROP TABLE customers",
        "ALTER TABLE fresh RENAME TO customers",
    )
    again = _source(shop)
    again.open(last.position)
    with pytest.raises(GapError, match="customers"):
        _all(again)
    again.close()


def test_altered_table_is_told_of_once_when_it_changed_while_nobody_captured(shop: Shop) -> None:
    source = _source(shop)
    source.open(None)
    _, last = _all(source)
    source.close()
    shop.run("ALTER TABLE customers ADD COLUMN city TEXT", "UPDATE customers SET city = 'Cork'")
    told: list[Event] = []
    for _ in range(2):
        again = _source(shop)
        again.open(last.position)
        events, last = _all(again)
        again.close()
        told += [event for event in events if event.op is Operation.SCHEMA_CHANGE]
        shop.run("UPDATE customers SET city = 'Delft'")
    assert len(told) == 1
    columns = (told[0].after or {})["result_schema"]["columns"]
    assert "city" in [column["name"] for column in columns]


def test_table_created_later_is_captured_from_its_first_row(shop: Shop) -> None:
    source = _source(shop)
    source.open(None)
    _all(source)
    shop.run("CREATE TABLE later (id INTEGER PRIMARY KEY)", "INSERT INTO later VALUES (1), (2)")
    _all(source)
    shop.run("INSERT INTO later VALUES (3)")
    events, _ = _all(source)
    assert [event.after for event in events] == [{"id": 3}]
    source.close()


def test_writer_in_another_process_is_seen_and_never_needs_our_code(shop: Shop) -> None:
    source = _source(shop, snapshot=False)
    source.open(None)
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute(\"INSERT INTO customers (id, name) VALUES (77, 'other process')\"); c.commit()"
    )
    subprocess.run([sys.executable, "-c", code, str(shop.path)], check=True, timeout=60)
    events, _ = _all(source)
    assert [event.after["name"] for event in events if event.after] == ["other process"]
    source.close()


def test_wrong_table_name_is_refused_with_a_suggestion(shop: Shop) -> None:
    with pytest.raises(ConfigError, match="did you mean 'customers'") as caught:
        _source(shop, tables=("custmers",)).identity  # noqa: B018
    assert caught.value.code == "sqlite-no-table"


@pytest.mark.parametrize(
    ("content", "code"), [(None, "source-missing"), (b"hello " * 200, "source-not-a-database")]
)
def test_file_that_is_no_database_is_a_coded_error(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(HeadwaterError) as caught:
        SqliteSource(SqliteSourceConfig(path=path)).identity  # noqa: B018
    assert caught.value.code == code
