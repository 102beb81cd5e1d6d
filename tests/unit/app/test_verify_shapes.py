"""A comparison while the shape of a table has changed in the log, and not yet in the target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headwater.app.proof.target import TargetTable
from headwater.app.proof.verifier import Proof
from headwater.contract import SourceBatch
from headwater.event import (
    Column,
    EventBatch,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    encode_row,
    event_ids,
)
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY
from tests.held import held
from tests.unit.app.sides import SourceAt, Target, verify

Row = dict[str, Any]


def shape(**columns: tuple[int | None, str]) -> TableSchema:
    """By name, each column's number and type."""
    made = (
        Column(name, LogicalType.parse(kind), number=number)
        for name, (number, kind) in columns.items()
    )
    return TableSchema(TableId(None, "r"), tuple(made), ("id",))


KEY = (1, "int64")
OLD = shape(id=KEY, a=(2, "string"))
RENAMED = shape(id=KEY, c=(2, "string"))
ADDED = shape(id=KEY, a=(2, "string"), b=(3, "string"))
DROPPED = shape(id=KEY)
MADE_ANEW = shape(id=KEY, a=(3, "string"))

Told = list[tuple[TableSchema, Operation, Row]]


def log_of(folder: Path, told: Told) -> SqliteLog:
    log = SqliteLog.create(folder / "r.hwlog")
    writer = log.writer(IDENTITY)
    for number, (schema, op, row) in enumerate(told, start=1):
        columns = {
            "event_id": event_ids("uid", [str(number)]),
            "op": int(op),
            "source_name": "scripted",
            "offset": [str(number)],
            "source_ts_ms": 1,
            "ts_ms": 1,
            "table_name": "r",
            "primary_key": ["id"],
            "schema_id": schema.schema_id,
            "after": [encode_row(row)],
        }
        batch = EventBatch.from_columns(columns)
        writer.append(SourceBatch(batch, Position({"n": number}), (schema,)))
    writer.close()
    return log


class Narrow(Target):
    """A target whose table has only the columns that its rows have."""

    def table(self, schema: TableSchema) -> TargetTable | None:
        names = {name for row in self._tables["r"] for name in row} or set("id")
        shown = tuple(each for each in schema.columns if each.name in names)
        return held(replace(schema, columns=shown), self._sequence, self._tables["r"])


def proof_of(
    log: SqliteLog, at: int, rows: list[Row], newest: TableSchema, now: list[Row]
) -> Proof:
    head = log.info().bounds.head
    return verify(log, Narrow(at, {"r": rows}), SourceAt(head, {"r": now}), (newest,))


RENAME: Told = [
    (OLD, Operation.READ, {"id": 1, "a": "x"}),
    (OLD, Operation.READ, {"id": 2, "a": "y"}),
    (OLD, Operation.UPDATE, {"id": 1, "a": "x2"}),
    (RENAMED, Operation.INSERT, {"id": 3, "c": "z"}),
]
NOW = [{"id": 1, "c": "x2"}, {"id": 2, "c": "y"}, {"id": 3, "c": "z"}]


@pytest.mark.parametrize(
    ("at", "rows"),
    [(0, []), (2, [{"id": 1, "a": "x"}, {"id": 2, "a": "y"}]), (3, [{"id": 1, "a": "x2"}])],
)
def test_table_is_undecided_when_a_rename_is_still_to_come(
    tmp_path: Path, at: int, rows: list[Row]
) -> None:
    proof = proof_of(log_of(tmp_path, RENAME), at, rows, RENAMED, NOW)
    assert proof.tables == ()
    assert [each.reason.code for each in proof.undecided] == ["verify-behind"]


def test_table_is_compared_when_it_has_the_rename(tmp_path: Path) -> None:
    log = log_of(tmp_path, RENAME)
    assert proof_of(log, 4, NOW, RENAMED, NOW).equal
    (found,) = proof_of(log, 4, NOW[1:], RENAMED, NOW).tables
    assert found.differences.missing == ('{"id":1}',)


def test_table_is_undecided_when_the_log_tells_of_a_shape_that_came_meanwhile(
    tmp_path: Path,
) -> None:
    rows = [{"id": 1, "a": "x2"}, {"id": 2, "a": "y"}]
    assert proof_of(log_of(tmp_path, RENAME), 3, rows, OLD, NOW).undecided


@pytest.mark.parametrize(
    ("old", "new", "decided"),
    [
        ("int16", "int64", True),
        ("array<int32>", "array<int64>", True),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,4)", False),
        ("float32", "float64", False),
        ("int32", "float64", False),
        ("date", "timestamp", False),
    ],
)
@pytest.mark.parametrize("numbered", [True, False])
def test_type_matters_when_values_would_be_written_otherwise(
    tmp_path: Path, old: str, new: str, *, decided: bool, numbered: bool
) -> None:
    number = 2 if numbered else None
    before, after = shape(id=KEY, a=(number, old)), shape(id=KEY, a=(number, new))
    told: Told = [
        (before, Operation.READ, {"id": 1, "a": None}),
        (after, Operation.INSERT, {"id": 2, "a": None}),
    ]
    now: list[Row] = [{"id": 1, "a": None}, {"id": 2, "a": None}]
    proof = proof_of(log_of(tmp_path, told), 1, now[:1], after, now)
    assert bool(proof.undecided) is not decided
    assert proof.equal is decided


@pytest.mark.parametrize(
    ("newest", "now"),
    [
        (ADDED, [{"id": 1, "a": "x", "b": None}, {"id": 2, "a": "y", "b": "z"}]),
        (DROPPED, [{"id": 1}, {"id": 2}]),
        (MADE_ANEW, [{"id": 1, "a": "x"}, {"id": 2, "a": "y"}]),
    ],
)
def test_columns_that_came_or_went_leave_a_table_comparable(
    tmp_path: Path, newest: TableSchema, now: list[Row]
) -> None:
    log = log_of(
        tmp_path,
        [(OLD, Operation.READ, {"id": 1, "a": "x"}), (newest, Operation.INSERT, now[1])],
    )
    assert proof_of(log, 1, [{"id": 1, "a": "x"}], newest, now).equal
    (found,) = proof_of(log, 1, [{"id": 7, "a": "x"}], newest, now).tables
    assert found.differences.extra == ('{"id":7}',)
