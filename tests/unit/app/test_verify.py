"""The comparison of a target with its source, with SQLite-like rows on both sides."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.result import as_result, table_result
from headwater.app.proof.roll import Moves
from headwater.app.proof.verifier import Step
from headwater.errors import TransientError
from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    TableId,
    TableSchema,
)
from headwater.log import RetentionPolicy, SqliteLog
from headwater.testing.builders import IDENTITY, ITEMS, source_batch
from tests.held import held
from tests.unit.app.sides import SourceAt, Target, event, verify

NOTES = TableSchema(
    TableId(None, "notes"), (Column("text", LogicalType(Kind.STRING), nullable=True),), ()
)


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog.create(tmp_path / "items.hwlog")
    events = [
        event(Operation.INSERT, None, {"id": 1, "name": "a"}),
        event(Operation.INSERT, None, {"id": 2, "name": "b"}),
        event(Operation.UPDATE, {"id": 1, "name": "a"}, {"id": 1, "name": "A"}),
        event(Operation.UPDATE, {"id": 2, "name": "b"}, {"id": 3, "name": "b"}),
        event(Operation.DELETE, {"id": 1, "name": "A"}, None),
    ]
    writer = log.writer(IDENTITY)
    writer.append(source_batch(EventBatch.from_events(events), 5))
    writer.close()
    return log


STATES: list[list[dict[str, Any]]] = [
    [],
    [{"id": 1, "name": "a"}],
    [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}],
    [{"id": 1, "name": "A"}, {"id": 2, "name": "b"}],
    [{"id": 1, "name": "A"}, {"id": 3, "name": "b"}],
    [{"id": 3, "name": "b"}],
]


@pytest.mark.parametrize(
    ("applied", "moment"),
    [(applied, moment) for moment in range(6) for applied in range(moment + 1)],
)
def test_verify_is_equal_when_the_target_stands_anywhere_behind(
    log: SqliteLog, applied: int, moment: int
) -> None:
    proof = verify(
        log,
        Target(applied, {"items": STATES[applied]}),
        SourceAt(moment, {"items": STATES[moment]}),
    )
    assert proof.equal
    assert proof.sequence == moment
    assert proof.tables[0].rolled_forward == moment - applied
    assert proof.tables[0].compared.target.rows == len(STATES[moment])


def test_verify_names_the_keys_when_rows_differ(log: SqliteLog) -> None:
    target = Target(5, {"items": [{"id": 3, "name": "B"}, {"id": 9, "name": "x"}]})
    source = SourceAt(5, {"items": [{"id": 3, "name": "b"}, {"id": 4, "name": "y"}]})
    proof = verify(log, target, source)
    assert not proof.equal
    shown = table_result(proof.tables[0])
    assert shown["missing"] == [{"id": 4}]
    assert shown["extra"] == [{"id": 9}]
    assert shown["different"] == [{"id": 3}]
    assert shown["source"]["hash"] != shown["target"]["hash"]


def test_verify_finds_everything_missing_when_the_target_has_no_table(log: SqliteLog) -> None:
    proof = verify(log, Target(0, {}), SourceAt(4, {"items": STATES[4]}))
    (items,) = proof.tables
    assert items.differences.missing == ('{"id":1}', '{"id":3}')
    assert items.rolled_forward == 0
    assert verify(log, Target(0, {}), SourceAt(4, {"items": []})).equal


def test_verify_finds_what_is_missing_when_the_log_has_lost_what_a_table_needs(
    log: SqliteLog,
) -> None:
    assert log.retain(RetentionPolicy(max_age_ms=0)).removed_events == 5
    writer = log.writer(IDENTITY)
    late = event(Operation.INSERT, None, {"id": 7, "name": "late"})
    writer.append(source_batch(EventBatch.from_events([late]), 6))
    writer.close()
    now = [{"id": 3, "name": "b"}, {"id": 7, "name": "late"}]
    (items,) = verify(log, Target(2, {"items": STATES[2]}), SourceAt(6, {"items": now})).tables
    assert items.differences.missing == ('{"id":3}',)
    assert items.differences.extra == ('{"id":1}', '{"id":2}')


def test_verify_gives_up_when_the_log_never_holds_the_position(log: SqliteLog) -> None:
    with pytest.raises(TransientError) as caught:
        verify(log, Target(5, {"items": []}), SourceAt(None, {"items": []}))
    assert caught.value.code == "verify-timeout"


def test_verify_counts_equal_rows_when_a_table_has_no_key(log: SqliteLog) -> None:
    twice = [{"text": "x"}, {"text": "x"}]
    same = verify(log, Target(5, {"notes": twice}), SourceAt(5, {"notes": twice}), (NOTES,))
    assert same.equal
    once = verify(log, Target(5, {"notes": twice[:1]}), SourceAt(5, {"notes": twice}), (NOTES,))
    assert not once.equal
    assert len(once.tables[0].differences.missing) == 1


def test_verify_counts_rows_that_came_and_went_when_a_table_without_a_key_is_behind(
    tmp_path: Path,
) -> None:
    log = SqliteLog.create(tmp_path / "notes.hwlog")
    events = [
        replace(event(op, before, after), table="notes", primary_key=None)
        for op, before, after in (
            (Operation.INSERT, None, {"text": "x"}),
            (Operation.INSERT, None, {"text": "x"}),
            (Operation.UPDATE, {"text": "x"}, {"text": "y"}),
            (Operation.DELETE, {"text": "x"}, None),
        )
    ]
    writer = log.writer(IDENTITY)
    writer.append(source_batch(EventBatch.from_events(events), 4))
    writer.close()
    source = SourceAt(4, {"notes": [{"text": "y"}]})
    behind = verify(log, Target(2, {"notes": [{"text": "x"}] * 2}), source, (NOTES,))
    assert behind.equal
    assert behind.tables[0].rolled_forward == 2


def test_verify_tells_how_far_it_is_when_asked(log: SqliteLog) -> None:
    heard: list[Step] = []
    rows = {"items": STATES[5]}
    verify(log, Target(5, rows), SourceAt(5, rows), progress=heard.append)
    assert [(str(step), step.rows_done, step.rows_total) for step in heard] == [
        ("source items", 0, 1),
        ("source items", 1, 1),
        ("target items", 0, 1),
        ("target items", 1, 1),
    ]


def test_verify_proves_the_other_tables_when_one_cannot_be_decided(tmp_path: Path) -> None:
    log = SqliteLog.create(tmp_path / "notes.hwlog")
    partial = replace(
        event(Operation.UPDATE, None, {"text": "y"}),
        table="notes",
        primary_key=None,
        unavailable_columns=("more",),
    )
    item = event(Operation.INSERT, None, {"id": 1, "name": "a"})
    writer = log.writer(IDENTITY)
    writer.append(source_batch(EventBatch.from_events([partial, item, partial]), 3))
    writer.close()
    tables: dict[str, list[dict[str, Any]]] = {
        "notes": [{"text": "y"}],
        "items": [{"id": 1, "name": "a"}],
    }
    target = Target(0, {"notes": [{"text": "x"}], "items": []})
    proof = verify(log, target, SourceAt(3, tables), (NOTES, ITEMS))
    (items,) = proof.tables
    assert items.equal
    assert not proof.equal
    result = as_result(proof)
    assert [(each["table"], each["code"]) for each in result["undecided"]] == [
        ("notes", "verify-undecidable")
    ]
    assert result["summary"] == (
        "1 tables with 1 rows equal their source at event 3; 1 could not be compared"
    )


@pytest.mark.parametrize("op", [Operation.SCHEMA_CHANGE, Operation.MESSAGE])
def test_moves_stay_when_an_event_is_about_no_row(op: Operation) -> None:
    for schema in (ITEMS, NOTES):
        moves = Moves(Encoder(schema))
        moves.apply(event(op, None, {"prefix": "p", "content": ""}))
        assert not moves.over(None).summaries(2)


def test_moves_forget_the_table_when_it_was_truncated() -> None:
    moves = Moves(Encoder(ITEMS))
    moves.apply(event(Operation.INSERT, None, {"id": 1, "name": "a"}))
    moves.apply(event(Operation.TRUNCATE, None, None))
    moves.apply(event(Operation.INSERT, None, {"id": 2, "name": "b"}))
    table = held(ITEMS, 0, [{"id": 7, "name": "old"}])
    assert [entry.key for entry in moves.over(table).entries(list("0123456789abcdef"))] == [
        '{"id":2}'
    ]


def test_moves_have_a_bound_when_the_target_is_far_behind() -> None:
    moves = Moves(Encoder(ITEMS), max_moved=2)
    for number in (1, 2, 2):
        moves.apply(event(Operation.INSERT, None, {"id": number, "name": "a"}))
    with pytest.raises(TransientError) as caught:
        moves.apply(event(Operation.INSERT, None, {"id": 3, "name": "a"}))
    assert caught.value.code == "verify-behind"
