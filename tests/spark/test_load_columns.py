"""Columns that change while their table is still being loaded, with a new driver at every cut.

Rows are read in the shape of their time; changes are kept until the last row is there. Neither the
kept changes nor the rows alone know the table's last shape: the one may end before a column
changes, the other after it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob
from headwater.contract import SnapshotProgress, SourceBatch
from headwater.event import (
    Column,
    EventBatch,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    encode_row,
)
from headwater.log import SqliteLog
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import SchemaPolicy
from headwater.spark.sql import quoted
from headwater.spark.table.layout import CURRENT, SEQUENCE, TO_SEQUENCE
from headwater.spark.table.path import table_path
from headwater.testing.builders import IDENTITY
from headwater.testing.history.table import columns_of
from tests.spark.things import row_at

pytestmark = pytest.mark.spark

READ, INSERT, UPDATE, DELETE = (
    *(Operation.READ, Operation.INSERT, Operation.UPDATE, Operation.DELETE),
)
Line = int | str
Facts = tuple[tuple[Operation, int], ...]

FIRST: Facts = (
    *((READ, 1), (READ, 2), (READ, 3), (UPDATE, 1), (DELETE, 2), (INSERT, 10)),
    (UPDATE, 5),  # it is read later
)
CHANGES: Facts = ((UPDATE, 1), (UPDATE, 3), (INSERT, 2), (DELETE, 10), (INSERT, 11))
READS: Facts = ((READ, 4), (READ, 5))
LAST: Facts = ((READ, 6),)


@dataclass(frozen=True)
class Case:
    """What a table is at first, then and in the end, and what is told of it then."""

    first: str
    then: str
    told: Facts = (*CHANGES, *READS)
    last: str = ""


# The key gets another name and more room, two columns change names, one goes, one comes.
OTHER = (
    "id:int32#1 name:string#2 qty:int32#3 ratio:float32#4 old:string#5",
    "no:int64#1 ratio:string#2 qty:int64#3 name:float64#4 note:string#6",
)
CASES = {
    "changed": Case(*OTHER),
    "unchanged": Case(*OTHER, told=READS),
    "there_and_back": Case(
        "id:int32#1 name:string#2",
        "id:int32#1 title:string#2",
        told=READS,
        last="id:int32#1 name:string#2",
    ),
    # Without numbers a column of another name is another column.
    "numberless": Case("id:int32 name:string qty:int32", "id:int32 title:string qty:int64"),
}
MODES: dict[Mode, tuple[str, ...]] = {"mirror": ("*",), "scd2": ("*changed",)}
DROPPING = "unchanged"
EXTRA: Mapping[Mode, tuple[str, ...]] = {
    "mirror": (SEQUENCE,),
    "scd2": (SEQUENCE, TO_SEQUENCE, CURRENT),
}


def _shape(table: str, text: str) -> TableSchema:
    columns = []
    for each in text.split():
        declared, _, number = each.partition("#")
        name, _, kind = declared.partition(":")
        columns.append(Column(name, LogicalType.parse(kind), number=int(number or 0) or None))
    return TableSchema(TableId(None, table), tuple(columns), (columns[0].name,))


@dataclass
class Sources:
    """Tables in one log; every event is an image in the shape of its time."""

    log: SqliteLog
    events: list[tuple[TableSchema, Operation, dict[str, Any]]] = field(default_factory=list)
    written: int = 0

    def tell(self, schema: TableSchema, turn: int, facts: Facts) -> None:
        for op, number in facts:
            self.events.append((schema, op, row_at(schema, turn, number)))

    def write(self, owed: tuple[TableId, ...]) -> None:
        """What was told since the last time; rows of the tables `owed` are still to come."""
        told, self.written = self.events[self.written :], len(self.events)
        writer = self.log.writer(IDENTITY)
        for schema, events in groupby(told, lambda each: each[0]):
            columns = columns_of([_columns(*each) for each in events])
            writer.append(
                SourceBatch(
                    EventBatch.from_columns(columns),
                    Position({"n": self.written}),
                    (schema,),
                    progress=SnapshotProgress(str(schema.table), 0, None, done=False),
                    owed=owed,
                )
            )
        writer.close()

    def told_of(self, table: str) -> Iterator[tuple[int, TableSchema, Operation, dict[str, Any]]]:
        for sequence, (schema, op, row) in enumerate(self.events, start=1):
            if schema.table.name == table:
                yield sequence, schema, op, row


def _columns(schema: TableSchema, op: Operation, row: dict[str, Any]) -> dict[str, Any]:
    image, gone = encode_row(row), op is DELETE
    return {
        "op": int(op),
        "schema": schema,
        "before": image if gone else None,
        "after": None if gone else image,
        "before_is_key_only": False,
    }


def _line(column: Column) -> Line:
    return column.number or column.name


def _names(case: Case) -> dict[Line, str]:
    """What each column is called in the end; one that is gone keeps its name."""
    shapes = [_shape("t", text) for text in (case.first, case.then, case.last or case.then)]
    return {_line(column): column.name for shape in shapes for column in shape.columns}


def _wanted(sources: Sources, table: str, mode: Mode, lines: list[Line]) -> list[tuple[Any, ...]]:
    """What a table holds, event by event."""
    rows: dict[int, dict[Line, Any]] = {}
    marks: dict[int, tuple[Any, ...]] = {}
    spans: list[list[Any]] = []
    for sequence, schema, op, image in sources.told_of(table):
        said = {_line(each): _stored(each, image[each.name]) for each in schema.columns}
        key = image[schema.primary_key[0]]
        for span in spans:
            if span[0] == key and span[2] is None:
                span[2] = sequence
        if op is DELETE:
            del rows[key], marks[key]
            continue
        # A row that is read stands for itself: what its shape has not, it has not.
        rows[key] = said if op is READ else rows.get(key, {}) | said
        marks[key] = (*(rows[key].get(line) for line in lines), sequence)
        spans.append([key, marks[key], None])
    if mode == "mirror":
        return sorted(marks.values(), key=repr)
    return sorted(((*begun, end, end is None) for _, begun, end in spans), key=repr)


def _stored(column: Column, value: Any) -> Any:
    is_float = str(column.type) == "float32"
    return struct.unpack("f", struct.pack("f", value))[0] if is_float else value


def _held(
    spark: SparkSession, pool: Pool, target: str, table: str, mode: Mode, names: list[str]
) -> list[tuple[Any, ...]]:
    path = table_path(str(pool.folder / target), TableId(None, table), mode)
    frame = spark.read.format(pool.table_format).load(path)
    ours = {name for name in frame.columns if not name.startswith("_headwater")}
    assert ours == set(names), (table, mode)
    return sorted(
        map(tuple, frame.selectExpr(*map(quoted, names), *EXTRA[mode]).collect()), key=repr
    )


@dataclass(frozen=True)
class Pool:
    """Where tables of some cases, DROPPING among them, are loaded, and in which format."""

    folder: Path
    table_format: TableFormat = "delta"
    cases: tuple[str, ...] = tuple(CASES)

    def jobs(self, sources: Sources) -> Iterator[TableJob]:
        """New drivers: of tables that keep what goes at the source, and of one that does not."""
        path, folder = sources.log.path, self.folder
        yield TableJob(path, str(folder / "lake"), self.table_format, modes=MODES)
        yield TableJob(
            path,
            str(folder / "dropping"),
            self.table_format,
            consumer="dropping",
            tables=(DROPPING,),
            schema_policy=SchemaPolicy(on_drop="drop"),
        )


def load_while_columns_change(
    spark: SparkSession, pool: Pool, assert_hidden: Callable[[], None]
) -> None:
    """INV-10: no value lands in a column that is not its own, whatever was still to be read."""
    sources = Sources(SqliteLog.create(pool.folder / "many.hwlog"))
    cases = {name: CASES[name] for name in pool.cases}
    tables = tuple(TableId(None, name) for name in cases)
    for part in range(3):
        for name, case in cases.items():
            text = (case.first, case.then, case.last or case.then)[part]
            sources.tell(_shape(name, text), part, (FIRST, case.told, LAST)[part])
        sources.write(tables if part < 2 else ())
        for job in pool.jobs(sources):
            job.run_once(spark)
        if part < 2:
            assert_hidden()
    _held(spark, pool, "lake", DROPPING, "mirror", list(_names(CASES[DROPPING]).values()))
    # What came of it takes changes as any table does.
    sources.tell(_shape(DROPPING, OTHER[1]), 3, ((UPDATE, 1), (DELETE, 3), (INSERT, 12)))
    sources.write(())
    for job in pool.jobs(sources):
        job.run_once(spark)

    for name, case in cases.items():
        names = _names(case)
        for mode in Modes(chosen=MODES).of(TableId(None, name)):
            held = _held(spark, pool, "lake", name, mode, list(names.values()))
            assert held == _wanted(sources, name, mode, list(names)), (name, mode)
    live = {_line(each): each.name for each in _shape(DROPPING, OTHER[1]).columns}
    held = _held(spark, pool, "dropping", DROPPING, "mirror", list(live.values()))
    assert held == _wanted(sources, DROPPING, "mirror", list(live))


def test_columns_that_change_during_a_load_are_what_they_are_in_a_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    def assert_hidden() -> None:
        assert not list(tmp_path.glob("*/*/_delta_log")), "half a table is hidden"

    load_while_columns_change(spark, Pool(tmp_path), assert_hidden)
