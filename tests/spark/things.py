"""A source whose columns change, the tables that are kept of it, and what they should hold."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark import TableFormat
from headwater.app.spark.targets import targets_of
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
)
from headwater.log import SqliteLog
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.tables import Tables
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import SchemaPolicy
from headwater.spark.sql import quoted
from headwater.spark.table.layout import CURRENT, DELETED_FLAG, OP, SEQUENCE, TO_SEQUENCE
from headwater.spark.table.path import table_path
from headwater.testing.builders import IDENTITY

THINGS = TableId("public", "things")
EXTRA: dict[Mode, tuple[str, ...]] = {
    "mirror": (SEQUENCE,),
    "soft_delete": (SEQUENCE, DELETED_FLAG),
    "scd2": (SEQUENCE, TO_SEQUENCE, CURRENT),
    "append_log": (SEQUENCE, OP),
}
Row = dict[str, Any]


def shape(text: str) -> TableSchema:
    """Columns as `name:type#number`."""
    columns = []
    for each in text.split():
        declared, _, number = each.partition("#")
        name, _, kind = declared.partition(":")
        columns.append(Column(name, LogicalType.parse(kind), number=int(number)))
    return TableSchema(THINGS, tuple(columns), ("id",))


@dataclass
class Things:
    """A source whose columns change. Every event is an image, written in the shape of its time."""

    log: SqliteLog
    schema: TableSchema
    events: list[tuple[TableSchema, Operation, Row, tuple[str, ...]]] = field(default_factory=list)

    def becomes(self, text: str) -> None:
        self.schema = shape(text)

    def tell(self, op: Operation, unsent: tuple[str, ...] = (), **row: Any) -> None:
        self.events.append((self.schema, op, row, unsent))

    def write(self) -> None:
        """Everything into the log, a batch per shape; then nobody writes any more."""
        writer = self.log.writer(IDENTITY)
        for place, (schema, told) in enumerate(groupby(self.events, lambda each: each[0])):
            batch = _batch(schema, list(told), place)
            writer.append(SourceBatch(batch, Position({"n": place}), (schema,)))
        writer.close()


def _batch(schema: TableSchema, told: list[Any], place: int) -> EventBatch:
    deletes = [op is Operation.DELETE for _, op, _, _ in told]
    images = [encode_row(row) for _, _, row, _ in told]
    pairs = list(zip(images, deletes, strict=True))
    return EventBatch.from_columns(
        {
            "op": [int(op) for _, op, _, _ in told],
            "before": [image if gone else None for image, gone in pairs],
            "after": [None if gone else image for image, gone in pairs],
            "unavailable_columns": [list(unsent) or None for _, _, _, unsent in told],
            "offset": [f"{place}.{number}" for number in range(len(told))],
            "source_name": "postgres",
            "source_ts_ms": 1,
            "before_is_key_only": deletes,
            "ts_ms": 1,
            "schema_id": schema.schema_id,
            "table_schema": THINGS.schema,
            "table_name": THINGS.name,
            "primary_key": [["id"]] * len(told),
        }
    )


@dataclass
class Pond:
    """Tables that are kept of a source, by batches that are cut by hand."""

    spark: SparkSession
    things: Things
    target: Path
    modes: Sequence[Mode] = ("mirror",)
    policy: SchemaPolicy = field(default_factory=SchemaPolicy)
    table_format: TableFormat = "delta"

    def apply(self, after: int, until: int) -> None:
        reader = self.things.log.reader()
        targets = targets_of(self.table_format, str(self.target), reader.log_id)
        assert targets is not None
        modes = Modes(chosen=dict.fromkeys(self.modes, ("things",)))
        options = {"startingSequence": after, "endingSequence": until}
        frame = self.spark.read.format("headwater").options(**options)
        evolution = Evolution(self.policy, self.things.log.commands)
        Tables(targets, reader, modes, evolution)(frame.load(str(self.things.log.path)), 0)

    def held(self, mode: Mode, names: Sequence[str]) -> list[tuple[Any, ...]]:
        rows = self._frame(mode).selectExpr(*map(quoted, names), *EXTRA[mode]).collect()
        return sorted(map(tuple, rows), key=repr)

    def columns(self, mode: Mode = "mirror") -> dict[str, str]:
        dtypes = self._frame(mode).dtypes
        return {name: kind for name, kind in dtypes if not name.startswith("_headwater")}

    def _frame(self, mode: Mode) -> DataFrame:
        path = table_path(str(self.target), THINGS, mode)
        return self.spark.read.format(self.table_format).load(path)


SHAPES = (
    "id:int32#1 name:string#2 qty:int32#3 ratio:float32#4",
    # A column comes, and others get room for more.
    "id:int64#1 name:string#2 qty:int64#3 ratio:float64#4 note:string#5",
    # The key gets another name, and the names of two columns change hands.
    "no:int64#1 title:string#2 ratio:int64#3 qty:float64#4 note:string#5",
    # A column goes, another takes its name, and a third the name of that one.
    "no:int64#1 note:string#2 ratio:int64#3 qty:float64#4 title:date#6",
)
# What the newest shape calls each number, and the column that is gone.
FINAL = {1: "no", 2: "note", 3: "ratio", 4: "qty", 6: "title", 5: "note_dropped_5"}


def story(log: SqliteLog) -> tuple[Things, list[int]]:
    """The history, and the last event of each shape."""
    things, ends = Things(log, shape(SHAPES[0])), []
    for turn, text in enumerate(SHAPES):
        things.schema = replace(shape(text), primary_key=("id" if turn < 2 else "no",))
        for number in (1, 2 + turn, 20 + turn):
            op = Operation.UPDATE if turn and number != 20 + turn else Operation.INSERT
            # The name is long, and left alone: nobody tells it.
            unsent = ("name" if turn < 2 else "title",) if number == 1 and 0 < turn < 3 else ()
            row = row_at(things.schema, turn, number)
            for name in unsent:
                row.pop(name)
            if number == 2 + turn and turn:
                things.tell(Operation.INSERT, **row_at(things.schema, turn, number))
                row = {name: None if name != _key(things.schema) else number for name in row}
            things.tell(op, unsent, **row)
        if turn:
            gone: Row = {_key(things.schema): 20 + turn - 1}
            things.tell(Operation.DELETE, **gone)
        ends.append(len(things.events))
    return things, ends


def _key(schema: TableSchema) -> str:
    return schema.primary_key[0]


def row_at(schema: TableSchema, turn: int, number: int) -> Row:
    values: dict[str, Any] = {
        "int32": 1000 * turn + number,
        "int64": (1 << 40) + 1000 * turn + number,
        "string": f"text {turn} {number}",
        "float32": 0.1,
        "float64": 0.1 + turn,
        "date": f"2026-01-0{turn + 1}",
        "timestamp": f"2026-02-0{turn + 1}T03:04:05.000006",
    }
    row = {column.name: values[str(column.type)] for column in schema.columns}
    return row | {_key(schema): number}


def _stored(value: Any, kind: str, final: str) -> Any:
    """A value as the last shape's column holds it: what an ALTER at the source makes of it."""
    if value is None:
        return None
    if kind == "float32":
        value = struct.unpack("f", struct.pack("f", value))[0]
    return datetime.fromisoformat(value).date() if final == "date" else value


def expected(things: Things, mode: Mode, names: Mapping[int, str]) -> list[tuple[Any, ...]]:
    """What a table holds, told event by event: by numbers, which no change of names touches."""
    finals = {each.number: str(each.type) for each in shape(SHAPES[-1]).columns}
    rows: dict[int, dict[int, Any]] = {}
    told: list[tuple[Any, ...]] = []
    spans: list[list[Any]] = []
    marked: dict[int, tuple[Any, ...]] = {}
    for sequence, (schema, op, image, _) in enumerate(things.events, start=1):
        numbers = {each.name: (each.number or 0, str(each.type)) for each in schema.columns}
        said = {
            numbers[name][0]: _stored(
                value, numbers[name][1], finals.get(numbers[name][0], numbers[name][1])
            )
            for name, value in image.items()
        }
        key = said[1]
        told.append((*(said.get(each) for each in names), sequence, op.label))
        for span in spans:
            if span[0] == key and span[2] is None:
                span[2] = sequence
        if op is Operation.DELETE:
            last = rows.pop(key)
            marked[key] = (*(last.get(each) for each in names), sequence, True)
            continue
        rows[key] = rows.get(key, {}) | said
        values = tuple(rows[key].get(each) for each in names)
        marked[key] = (*values, sequence, False)
        spans.append([key, (*values, sequence), None])
    match mode:
        case "mirror":
            wanted = [each[:-1] for each in marked.values() if not each[-1]]
        case "soft_delete":
            wanted = list(marked.values())
        case "scd2":
            wanted = [(*begun, end, end is None) for _, begun, end in spans]
        case "append_log":
            wanted = told
    return sorted(wanted, key=repr)
