"""Tables that follow their source through every change of its columns, in every mode.

One history with a column added, widened, renamed, dropped and made anew is applied in batches that
end at the changes, that lie across them, and in one batch; the tables must be the same, and what an
oracle in plain Python says.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.contract import SourceBatch
from headwater.errors import ConfigError
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
from headwater.spark.change.kinds import widens
from headwater.spark.modes import MODES, Mode, Modes
from headwater.spark.policy import SchemaPolicy
from headwater.spark.sql import quoted
from headwater.spark.table.delta import DeltaTargets
from headwater.spark.table.layout import CURRENT, DELETED_FLAG, OP, SEQUENCE, TO_SEQUENCE
from headwater.spark.table.path import table_path
from headwater.testing.builders import IDENTITY

pytestmark = pytest.mark.spark

THINGS = TableId("public", "things")
EXTRA: dict[Mode, tuple[str, ...]] = {
    "mirror": (SEQUENCE,),
    "soft_delete": (SEQUENCE, DELETED_FLAG),
    "scd2": (SEQUENCE, TO_SEQUENCE, CURRENT),
    "append_log": (SEQUENCE, OP),
}
Row = dict[str, Any]


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    """Tables of a few rows: compiling each plan would take far longer than running it."""
    compiled = "spark.sql.codegen.wholeStage"
    spark.conf.set(compiled, "false")
    yield spark
    spark.conf.unset(compiled)


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

    def apply(self, after: int, until: int) -> None:
        reader = self.things.log.reader()
        targets = DeltaTargets(str(self.target), reader.log_id)
        modes = Modes(chosen=dict.fromkeys(self.modes, ("things",)))
        options = {"startingSequence": after, "endingSequence": until}
        frame = self.spark.read.format("headwater").options(**options)
        evolution = Evolution(self.policy, self.things.log.commands)
        Tables(targets, reader, modes, evolution)(frame.load(str(self.things.log.path)), 0)

    def held(self, mode: Mode, names: Sequence[str]) -> list[tuple[Any, ...]]:
        frame = self.spark.read.format("delta").load(table_path(str(self.target), THINGS, mode))
        rows = frame.selectExpr(*map(quoted, names), *EXTRA[mode]).collect()
        return sorted(map(tuple, rows), key=repr)

    def columns(self, mode: Mode = "mirror") -> dict[str, str]:
        frame = self.spark.read.format("delta").load(table_path(str(self.target), THINGS, mode))
        return {name: kind for name, kind in frame.dtypes if not name.startswith("_headwater")}


NARROW = "id:int32#1 name:string#2 qty:int32#3 ratio:float32#4 price:decimal(6,2)#5 day:date#6"
WIDE = "ratio:float64#4 price:decimal(10,4)#5 day:timestamp#6"
SHAPES = (
    NARROW,
    f"{NARROW} note:string#7",
    f"id:int64#1 name:string#2 qty:int64#3 {WIDE} note:string#7",
    f"no:int64#1 title:string#2 qty:int64#3 {WIDE} note:string#7",
    f"no:int64#1 title:string#2 qty:int64#3 {WIDE}",
    # The names of two columns change hands, and another column gets the name of the one that went.
    f"no:int64#1 note:string#2 price:int64#3 {WIDE.replace('price', 'qty')} title:date#8",
)
# What the newest shape calls each number, and the column that is gone.
FINAL = {1: "no", 2: "note", 3: "price", 4: "ratio", 5: "qty", 6: "day", 8: "title"}
GONE = {7: "note_dropped_7"}


def _story(log: SqliteLog) -> tuple[Things, list[int]]:
    """The history, and the last event of each shape."""
    things, ends = Things(log, shape(SHAPES[0])), []
    for turn, text in enumerate(SHAPES):
        things.schema = replace(shape(text), primary_key=("id" if turn < 3 else "no",))
        for number in (1, 2 + turn, 20 + turn):
            op = Operation.UPDATE if turn and number != 20 + turn else Operation.INSERT
            # The name is long, and left alone: nobody tells it.
            unsent = ("name" if turn < 3 else "title",) if number == 1 and 0 < turn < 5 else ()
            row = _row(things.schema, turn, number)
            for name in unsent:
                row.pop(name)
            if number == 2 + turn and turn:
                things.tell(Operation.INSERT, **_row(things.schema, turn, number))
                row = {name: None if name != _key(things.schema) else number for name in row}
            things.tell(op, unsent, **row)
        if turn:
            gone: Row = {_key(things.schema): 20 + turn - 1}
            things.tell(Operation.DELETE, **gone)
        ends.append(len(things.events))
    return things, ends


def _key(schema: TableSchema) -> str:
    return schema.primary_key[0]


def _row(schema: TableSchema, turn: int, number: int) -> Row:
    values: dict[str, Any] = {
        "int32": 1000 * turn + number,
        "int64": (1 << 40) + 1000 * turn + number,
        "string": f"text {turn} {number}",
        "float32": 0.1,
        "float64": 0.1 + turn,
        "decimal(6,2)": f"{turn}.50",
        "decimal(10,4)": f"{turn}.1234",
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
    if final.startswith("decimal"):
        return Decimal(value).quantize(Decimal("0.0001"))
    if final == "timestamp":
        return datetime.fromisoformat(value)
    return datetime.fromisoformat(value).date() if final == "date" else value


def _expected(things: Things, mode: Mode, names: Mapping[int, str]) -> list[tuple[Any, ...]]:
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


def test_tables_of_every_mode_are_the_same_wherever_batches_are_cut(
    interpreted: SparkSession, tmp_path: Path
) -> None:
    """INV-10, and in order with the data: no value lands in a column that is not its own."""
    things, ends = _story(SqliteLog.create(tmp_path / "things.hwlog"))
    things.write()
    across = [2, *(end + 2 for end in ends[:-1]), ends[-1]]
    lakes: list[tuple[Sequence[Mode], list[int]]] = [
        (MODES, across),
        (("mirror", "scd2"), ends),
        (MODES, ends[-1:]),
    ]
    for place, (modes, cuts) in enumerate(lakes):
        pond = Pond(interpreted, things, tmp_path / str(place), modes)
        for after, until in zip([0, *cuts], cuts, strict=False):
            pond.apply(after, until)
        pond.apply(0, ends[-1])
        for mode in modes:
            names = FINAL | GONE
            assert set(pond.columns(mode)) == set(names.values()), (place, mode)
            held = pond.held(mode, list(names.values()))
            assert held == _expected(things, mode, names), (place, mode)


def _small(log: SqliteLog, *shapes: str) -> Things:
    """One row per shape, and the row before it changed."""
    things = Things(log, shape(shapes[0]))
    for turn, text in enumerate(shapes):
        things.becomes(text)
        for number in range(max(turn - 1, 0), turn + 1):
            op = Operation.INSERT if number == turn else Operation.UPDATE
            things.tell(op, **_row(things.schema, turn, number))
    things.write()
    return things


BEFORE = "id:int32#1 name:string#2 qty:int32#3"


@pytest.mark.parametrize(
    ("policy", "after", "columns", "row"),
    [
        (
            "lenient",
            "id:int32#1 title:string#2 qty:int64#3 day:date#4",
            {"id": "int", "name": "string", "qty": "bigint", "day": "date"},
            ("text 1 1", (1 << 40) + 1001),
        ),
        # What does not fit: text takes everything, a number takes what is one.
        (
            "lenient",
            "id:int32#1 name:int32#2 qty:string#3",
            {"id": "int", "name": "string", "qty": "int"},
            ("1001", None),
        ),
        (
            "freeze",
            "id:int32#1 title:string#2 day:date#4",
            {"id": "int", "name": "string", "qty": "int"},
            ("text 1 1", None),
        ),
    ],
)
def test_policy_decides_which_columns_a_table_gets(
    interpreted: SparkSession,
    tmp_path: Path,
    policy: Any,
    after: str,
    columns: dict[str, str],
    row: tuple[Any, ...],
) -> None:
    things = _small(SqliteLog.create(tmp_path / "things.hwlog"), BEFORE, after)
    pond = Pond(interpreted, things, tmp_path / "lake", policy=SchemaPolicy(policy))
    for after_event, until in ((0, 1), (1, len(things.events))):
        pond.apply(after_event, until)
    assert pond.columns() == columns
    held = {each[0]: each[1:] for each in pond.held("mirror", ["id", "name", "qty"])}
    assert held[1][:2] == row
    # The row that was there and was told again.
    assert held[0][:2] == (row[0].replace("1 1", "1 0").replace("1001", "1000"), held[0][1])


@pytest.mark.parametrize(
    ("policy", "after", "code"),
    [
        ("halt", "id:int32#1 title:string#2 qty:int64#3 day:timestamp#4", "spark-schema-halted"),
        ("evolve", "id:int32#1 name:string#2 qty:string#3", "spark-type-changed"),
        ("evolve", "id:int32#1 name:date#2 qty:int32#3", "spark-type-changed"),
    ],
)
def test_table_goes_on_when_the_statements_of_the_halt_were_run(
    interpreted: SparkSession, tmp_path: Path, policy: Any, after: str, code: str
) -> None:
    things = _small(SqliteLog.create(tmp_path / "things.hwlog"), BEFORE, after)
    pond = Pond(interpreted, things, tmp_path / "lake", policy=SchemaPolicy(policy))
    pond.apply(0, 1)
    with pytest.raises(ConfigError) as caught:
        pond.apply(1, len(things.events))
    assert caught.value.code == code
    assert pond.columns() == {"id": "int", "name": "string", "qty": "int"}
    for statement in caught.value.hint.split("; "):
        if statement.startswith(("ALTER", "UPDATE")):
            interpreted.sql(statement)
    pond.apply(0, len(things.events))
    wanted = [each.name for each in shape(after).columns]
    assert sorted(pond.columns()) == sorted(wanted)
    (last,) = [each for each in pond.held("mirror", wanted) if each[0] == 1]
    assert None not in last[: len(wanted)]


def test_types_that_widen_are_those_that_the_installed_delta_widens(
    interpreted: SparkSession,
) -> None:
    jvm: Any = interpreted._jvm
    delta = jvm.org.apache.spark.sql.delta.TypeWidening
    parsed = jvm.org.apache.spark.sql.types.DataType
    kinds = (
        *("boolean", "smallint", "int", "bigint", "float", "double", "string", "binary"),
        *("decimal(5,0)", "decimal(10,0)", "decimal(10,2)", "decimal(12,2)", "decimal(12,4)"),
        *("decimal(20,0)", "decimal(22,2)", "decimal(38,0)", "date", "timestamp_ntz", "timestamp"),
    )
    differing = [
        (old, new)
        for old in kinds
        for new in kinds
        if old != new
        and widens(old, new)
        != delta.isTypeChangeSupported(parsed.fromDDL(old), parsed.fromDDL(new))
    ]
    assert differing == []
