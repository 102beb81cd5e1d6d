"""Rows of which events tell a part, between a target's moment and its source's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.roll import Moves
from headwater.app.proof.verifier import Proof
from headwater.errors import TransientError
from headwater.event import (
    Column,
    Event,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    TableId,
    TableSchema,
    encode_row,
)
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, source_batch
from tests.held import held
from tests.unit.app.sides import SourceAt, Target, event, verify


def docs(
    op: Operation, after: dict[str, Any] | None, *unsent: str, was: int | None = None
) -> Event:
    """A change of a document; `unsent` columns were left out."""
    key = after["id"] if after else was
    before = None if op is Operation.INSERT else {"id": key if was is None else was}
    return replace(
        event(op, before, after),
        table="docs",
        before_is_key_only=before is not None,
        unavailable_columns=unsent,
    )


DOCS = TableSchema(
    TableId(None, "docs"),
    (
        Column("id", LogicalType(Kind.INT64), nullable=False),
        Column("views", LogicalType(Kind.INT64), nullable=True),
        Column("body", LogicalType(Kind.STRING), nullable=True),
        Column("meta", LogicalType(Kind.JSON), nullable=True),
    ),
    ("id",),
)
UPDATE, INSERT, DELETE = Operation.UPDATE, Operation.INSERT, Operation.DELETE
LONG = "long " * 9
STORY = [
    docs(INSERT, {"id": 1, "views": 0, "body": LONG, "meta": {"a": 1}}),
    docs(INSERT, {"id": 2, "views": 0, "body": None, "meta": None}),
    docs(UPDATE, {"id": 1, "views": 1, "meta": {"b": 2}}, "body"),
    docs(UPDATE, {"id": 1, "views": None}, "body", "meta"),
    docs(UPDATE, {"id": 3, "views": 3}, "body", "meta", was=1),
    docs(UPDATE, {"id": 1, "views": 5, "body": "b", "meta": [1]}, was=2),
    docs(UPDATE, {"id": 1, "views": 6, "meta": None}, "body"),
    docs(DELETE, None, was=3),
    docs(INSERT, {"id": 3, "views": 8, "body": LONG, "meta": "x"}),
    docs(UPDATE, {"id": 3, "views": 9}, "body", "meta"),
    docs(UPDATE, {"id": 2, "body": "c", "meta": "y"}, "views", was=3),
    docs(INSERT, {"id": 7, "views": 0, "body": LONG, "meta": {"a": 7}}),
    docs(INSERT, {"id": 8, "views": 0, "body": LONG, "meta": {"a": 8}}),
    # Each leaves out what the other one changes.
    docs(UPDATE, {"id": 7, "views": 1, "meta": None}, "body"),
    docs(UPDATE, {"id": 8, "views": 1, "body": "d"}, "meta"),
]


def _after(count: int) -> list[dict[str, Any]]:
    """The documents after so many changes."""
    rows: dict[int, dict[str, Any]] = {}
    for each in STORY[:count]:
        old = each.before["id"] if each.before else None
        held = rows.pop(old, {}) if old is not None else {}
        if each.after is not None:
            rows[each.after["id"]] = held | each.after
    return list(rows.values())


@pytest.fixture
def told(tmp_path: Path) -> SqliteLog:
    """A log of documents whose long values most updates leave out."""
    log = SqliteLog.create(tmp_path / "docs.hwlog")
    writer = log.writer(IDENTITY)
    writer.append(source_batch(EventBatch.from_events(STORY), len(STORY)))
    writer.close()
    return log


def _prove(log: SqliteLog, applied: int, moment: int, rows: list[dict[str, Any]]) -> Proof:
    encoder = Encoder(DOCS)
    target = Target(applied, {"docs": [encoder.row(encode_row(row)) for row in rows]})
    return verify(log, target, SourceAt(moment, {"docs": _after(moment)}), (DOCS,))


@pytest.mark.parametrize("applied", range(len(STORY) + 1))
def test_verify_is_equal_when_events_leave_long_values_out(told: SqliteLog, applied: int) -> None:
    for moment in range(applied, len(STORY) + 1):
        proof = _prove(told, applied, moment, _after(applied))
        assert proof.equal, (applied, moment, proof)
        assert proof.tables[0].rolled_forward == moment - applied


def test_verify_finds_a_long_value_that_differs_when_later_events_leave_it_out(
    told: SqliteLog,
) -> None:
    """What the target does not hold is not taken from the source, nor believed to be there."""
    held = _after(2)
    for column, value in (("body", "forged"), ("body", None), ("meta", {"z": 0})):
        forged = [{**row, column: value} if row["id"] == 1 else row for row in held]
        told_later = column == "meta"
        (docs,) = _prove(told, 2, 4, forged).tables
        assert docs.differences.different == (() if told_later else ('{"id":1}',))
        (docs,) = _prove(told, 2, 5, forged).tables
        assert docs.differences.different == (() if told_later else ('{"id":3}',))
    (docs,) = _prove(told, 2, 5, [row for row in held if row["id"] != 1]).tables
    assert docs.differences.missing == ('{"id":3}',)
    (docs,) = _prove(told, 2, 5, [*held, held[0]]).tables
    assert not docs.equal
    # A row that the log itself tells whole, later, is what the log says.
    assert _prove(told, 2, 11, [row for row in held if row["id"] != 1]).equal


def test_moves_make_no_row_of_a_part_when_the_row_is_gone() -> None:
    part = docs(UPDATE, {"id": 1, "views": 2}, "body", "meta")
    for gone in (docs(DELETE, None, was=1), replace(STORY[0], op=Operation.TRUNCATE, after=None)):
        moves = Moves(Encoder(DOCS))
        moves.expect(part)
        for each in (STORY[0], gone, part):
            moves.apply(each)
        table = held(DOCS, 0, [{"id": 1, "views": 1, "body": LONG, "meta": None}])
        assert not moves.over(table).summaries(2)
        assert not moves.over(None).summaries(2)


def test_moves_have_a_bound_when_the_values_that_parts_need_are_long() -> None:
    part = docs(UPDATE, {"id": 1, "views": 2}, "body", "meta")
    moves = Moves(Encoder(DOCS), max_held=30)
    moves.expect(part)
    with pytest.raises(TransientError) as caught:
        moves.apply(STORY[0])
    assert caught.value.code == "verify-behind"
    unexpected = Moves(Encoder(DOCS), max_held=30)
    unexpected.apply(STORY[0])
