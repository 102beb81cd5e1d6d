"""The comparison of a target with its source, with SQLite-like rows on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.result import table_result
from headwater.app.proof.roll import Moves
from headwater.app.proof.verifier import Bounds, Progress, Proof, Step, TargetTable, Verifier
from headwater.contract import LogReader
from headwater.errors import DataError, TransientError
from headwater.event import (
    Column,
    Event,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    Origin,
    TableId,
    TableSchema,
    encode_row,
)
from headwater.log import RetentionPolicy, SqliteLog
from headwater.testing.builders import IDENTITY, ITEMS, TS_MS, source_batch
from headwater.testing.clock import FakeClock
from tests.held import held

NOTES = TableSchema(
    TableId(None, "notes"), (Column("text", LogicalType(Kind.STRING), nullable=True),), ()
)


def event(op: Operation, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Event:
    return Event(
        op=op,
        source=Origin("scripted", "change:1", TS_MS),
        ts_ms=TS_MS,
        table="items",
        primary_key=("id",),
        before=before,
        after=after,
        schema_id=ITEMS.schema_id,
    )


class Target:
    """A target whose tables stand at one sequence."""

    def __init__(self, sequence: int, tables: dict[str, list[dict[str, Any]]]) -> None:
        self._sequence = sequence
        self._tables = tables

    def table(self, schema: TableSchema) -> TargetTable | None:
        rows = self._tables.get(schema.table.name)
        return None if rows is None else held(schema, self._sequence, rows)


class SourceAt:
    """A source at a position that the log holds as event `sequence`, or does not hold yet."""

    def __init__(self, sequence: int | None, tables: dict[str, list[dict[str, Any]]]) -> None:
        self._sequence = sequence
        self._tables = tables

    def images(self, table: str) -> Iterator[str]:
        return map(encode_row, self._tables[table])

    def estimate(self, table: str) -> int | None:
        return len(self._tables[table])

    def sequence(self, reader: LogReader, after: int) -> int | None:
        assert after <= reader.bounds().head
        return self._sequence


def verify(
    log: SqliteLog,
    target: Target,
    source: SourceAt,
    schemas: tuple[TableSchema, ...] = (ITEMS,),
    progress: Progress = lambda _step: None,
) -> Proof:
    @contextmanager
    def opened() -> Iterator[SourceAt]:
        yield source

    reader = log.reader()
    try:
        verifier = Verifier(reader, target, clock=FakeClock(), bounds=Bounds(timeout_s=1))
        return verifier.verify(schemas, opened, progress)
    finally:
        reader.close()


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


def test_moves_refuse_when_an_event_has_no_whole_row() -> None:
    partial = Event(
        op=Operation.UPDATE,
        source=Origin("s", "1", 0),
        ts_ms=0,
        table="items",
        primary_key=("id",),
        after={"id": 1},
        unavailable_columns=("name",),
    )
    for schema in (ITEMS, NOTES):
        with pytest.raises(DataError) as caught:
            Moves(Encoder(schema)).apply(partial)
        assert caught.value.code == "verify-undecidable"


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
    assert [entry.key for entry in moves.over(table.rows).entries(list("0123456789abcdef"))] == [
        '{"id":2}'
    ]


def test_moves_have_a_bound_when_the_target_is_far_behind() -> None:
    moves = Moves(Encoder(ITEMS), max_moved=2)
    for number in (1, 2, 2):
        moves.apply(event(Operation.INSERT, None, {"id": number, "name": "a"}))
    with pytest.raises(TransientError) as caught:
        moves.apply(event(Operation.INSERT, None, {"id": 3, "name": "a"}))
    assert caught.value.code == "verify-behind"
