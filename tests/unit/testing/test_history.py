"""Seeded histories: the same seed tells the same, and everything happens in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.event import EventBatch, Operation, TableId
from headwater.testing.history.changes import ORDERS, TABLES, SeededChanges
from headwater.testing.history.difference import difference
from headwater.testing.history.log import History


@pytest.mark.parametrize("seed", range(1, 6))
def test_history_has_everything_and_is_the_same_for_a_seed(tmp_path: Path, seed: int) -> None:
    changes = SeededChanges(seed)
    events = EventBatch.concat([batch.events for batch in changes])
    again = EventBatch.concat([batch.events for batch in SeededChanges(seed)])
    assert events.equals(again)
    assert set(events.column("op").to_pylist()) == {
        int(op) for op in Operation if op not in (Operation.SCHEMA_CHANGE, Operation.MESSAGE)
    }
    assert len(set(events.column("schema_id").to_pylist())) == len(TABLES) + 1
    assert len(set(events.column("event_id").to_pylist())) == len(events)
    committed = events.column("source_ts_ms").to_pylist()
    assert committed != sorted(committed)
    rows = list(events)
    assert any(each.unavailable_columns for each in rows)
    assert any(each.old_key() not in (None, each.key()) for each in rows)
    tables = {(each.transaction.tx_id, each.table) for each in rows if each.transaction}
    assert len(tables) > len({tx for tx, _ in tables})
    _assert_oracle_agrees(changes, History(tmp_path / "h.hwlog", seed))


def _assert_oracle_agrees(changes: SeededChanges, history: History) -> None:
    """The table in Python and the one told event by event, two ways to the same rows."""
    history.grow(3)
    assert 0 < history.head < 200
    history.finish()
    for table in changes.tables:
        oracle = history.oracle(table.schema.table)
        assert len(oracle.rows) == len(table.rows)
        assert history.tables[table.schema.table] == table.schema


def test_duplicates_have_the_ids_of_what_they_repeat_and_the_oracle_hears_them_once(
    tmp_path: Path,
) -> None:
    plain, twice = History(tmp_path / "a", 3), History(tmp_path / "b", 3, duplicates=True)
    for each in (plain, twice):
        each.finish()
    events = EventBatch.concat(list(twice.log.reader().read(0)))
    ids = events.column("event_id").to_pylist()
    assert len(set(ids)) < len(ids)
    assert twice.oracle(ORDERS.table).log


def test_difference_shows_the_first_keys_with_both_rows() -> None:
    held: list[dict[str, object]] = [
        {"id": 1, "v": "a"},
        {"id": 2, "v": "b"},
        {"id": 4, "v": "d"},
        {"id": 4, "v": "d"},
    ]
    wanted: list[dict[str, object]] = [
        {"id": 1, "v": "a"},
        {"id": 2, "v": "B"},
        {"id": 3, "v": None},
        {"id": 4, "v": "d"},
    ]
    assert difference(wanted, wanted, ["id"]) == ""
    assert difference(held, wanted, ["id"]).splitlines() == [
        "3 of 4 keys differ",
        '  {"id":2}',
        '      held  {"id":2,"v":"b"}',
        '    wanted  {"id":2,"v":"B"}',
        '  {"id":3}',
        "      held  no row",
        '    wanted  {"id":3,"v":null}',
        '  {"id":4}',
        '      held  {"id":4,"v":"d"}',
        '      held  {"id":4,"v":"d"}',
        '    wanted  {"id":4,"v":"d"}',
    ]
    many = [{"id": number} for number in range(9)]
    assert difference(many, [], ["id"]).endswith("and 4 more")
    assert TableId("public", "orders") == ORDERS.table
