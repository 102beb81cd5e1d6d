from __future__ import annotations

import pickle

import pytest

from headwater.event import EventBatch, TableId
from headwater.testing.builders import inserts
from headwater.transform import Chain, KeepTables


def _batch(*tables: tuple[str | None, str]) -> EventBatch:
    plain = inserts(1, len(tables)).with_sequence(1)
    columns = {name: plain.column(name) for name in plain.records.schema.names}
    columns["table_schema"] = [schema for schema, _ in tables]
    columns["table_name"] = [name for _, name in tables]
    return EventBatch.from_columns(columns)


_TABLES: list[tuple[str | None, str]] = [
    (None, "orders"),
    (None, "order_lines"),
    ("sales", "orders"),
    ("hr", "people"),
    (None, "Orders"),
]


@pytest.mark.parametrize(
    ("keep", "drop", "kept"),
    [
        (("*",), (), [1, 2, 3, 4, 5]),
        (("orders",), (), [1, 3, 5]),
        (("order*",), (), [1, 2, 3, 5]),
        (("sales.*",), (), [3]),
        (("*",), ("hr.*", "order_?ines"), [1, 3, 5]),
        (("nothing",), (), []),
    ],
)
def test_keep_tables_chooses_by_glob_when_patterns_are_given(
    keep: tuple[str, ...], drop: tuple[str, ...], kept: list[int]
) -> None:
    chosen = KeepTables(keep, drop)(_batch(*_TABLES))
    assert chosen.column("sequence_number").to_pylist() == kept


def test_keep_tables_agrees_with_its_own_rule_when_asked_per_event() -> None:
    rule = KeepTables(("order*", "hr.*"), ("sales.*",))
    chosen = rule(_batch(*_TABLES)).column("sequence_number").to_pylist()
    expected = [n for n, (s, t) in enumerate(_TABLES, start=1) if rule.wants(TableId(s, t))]
    assert chosen == expected


def test_keep_tables_tells_schema_and_name_apart_when_both_have_dots() -> None:
    dotted = _batch(("odd.schema", "kinds"), ("odd", "schema.kinds"), (None, "odd.kinds"))
    for keep, kept in (("kinds", [1]), ("*schema*", [2]), ("odd.schema.kinds", [1, 2])):
        assert KeepTables((keep,))(dotted).column("sequence_number").to_pylist() == kept


def test_keep_tables_keeps_a_message_only_when_every_name_is_kept() -> None:
    nameless = _batch((None, ""), (None, "orders"))
    for keep, kept in ((("*",), [1, 2]), (("orders", "public.*"), [2]), (("?*",), [2])):
        assert KeepTables(keep)(nameless).column("sequence_number").to_pylist() == kept


def test_keep_tables_accepts_an_empty_batch_when_there_is_nothing_to_choose() -> None:
    assert len(KeepTables(("a",))(EventBatch.concat([]))) == 0


def test_chain_applies_in_order_and_pickles_when_built_from_parts() -> None:
    chain = Chain((KeepTables(("order*",)), KeepTables(("*",), ("sales.*",))))
    copy = pickle.loads(pickle.dumps(chain))
    assert copy(_batch(*_TABLES)).column("sequence_number").to_pylist() == [1, 2, 5]
    batch = _batch(*_TABLES)
    assert Chain()(batch) is batch
