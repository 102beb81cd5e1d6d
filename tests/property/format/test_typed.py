"""Any table with any rows that fit it comes back exactly, and damage is only ever a DataError."""

from __future__ import annotations

import base64
import io
from typing import Any

import fastavro
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import DataError
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
    to_json_value,
)
from headwater.format.typed.avro import TypedAvroFormat
from headwater.format.typed.schema import bare, typed_schemas
from headwater.testing.conformance.format import envelope
from headwater.testing.strategies import json_values, texts
from tests.unit.format.typed_tables import History


def _decimals(logical: LogicalType) -> st.SearchStrategy[str]:
    precision, scale = logical.precision or 0, logical.scale or 0

    def text(number: int) -> str:
        whole, fraction = divmod(abs(number), 10**scale)
        digits = f"{whole}.{fraction:0{scale}d}" if scale else f"{whole}"
        return f"-{digits}" if number < 0 else digits

    return st.integers(-(10**precision) + 1, 10**precision - 1).map(text)


def _single(value: float) -> Any:
    """A float of 32 bits as a database writes it: its own shortest text."""
    return to_json_value(float(str(np.float32(value))))


_VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INT16: st.integers(-(2**15), 2**15 - 1),
    Kind.INT32: st.integers(-(2**31), 2**31 - 1),
    Kind.INT64: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT32: st.floats(width=32).map(_single),
    Kind.FLOAT64: st.floats().map(to_json_value),
    Kind.STRING: texts(),
    Kind.INTERVAL: texts(),
    Kind.BINARY: st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode()),
    Kind.DATE: st.dates().map(to_json_value),
    Kind.TIME: st.times().map(to_json_value),
    Kind.TIMESTAMP: st.datetimes().map(to_json_value),
    Kind.TIMESTAMPTZ: st.datetimes().map(lambda at: f"{to_json_value(at)}Z"),
    Kind.UUID: st.uuids().map(str),
    Kind.JSON: json_values(),
    Kind.DYNAMIC: json_values(),
}


@st.composite
def _types(draw: st.DrawFn) -> LogicalType:
    kind = draw(st.sampled_from([*_VALUES, Kind.DECIMAL, Kind.ARRAY]))
    if kind is Kind.DECIMAL:
        precision = draw(st.integers(1, 40))
        return LogicalType(kind, precision=precision, scale=draw(st.integers(0, precision)))
    if kind is Kind.ARRAY:
        element = draw(st.sampled_from([k for k in _VALUES if k not in (Kind.JSON, Kind.DYNAMIC)]))
        return LogicalType(kind, element=LogicalType(element))
    return LogicalType(kind)


def _value(logical: LogicalType) -> st.SearchStrategy[Any]:
    if logical.kind is Kind.DECIMAL:
        return _decimals(logical)
    if logical.kind is Kind.ARRAY and logical.element is not None:
        return st.lists(st.none() | _value(logical.element), max_size=3)
    return _VALUES[logical.kind]


@st.composite
def _tables(draw: st.DrawFn) -> TableSchema:
    names = draw(st.lists(texts(max_size=5), min_size=1, max_size=5, unique=True))
    columns = tuple(Column(name, draw(_types()), nullable=draw(st.booleans())) for name in names)
    return TableSchema(TableId(draw(st.none() | texts()), draw(texts(min_size=1))), columns)


@st.composite
def _rows(draw: st.DrawFn, table: TableSchema) -> dict[str, Any]:
    """A whole row, or some of its columns."""
    row = {}
    for column in table.columns:
        values = _value(column.type)
        row[column.name] = draw(st.none() | values if column.nullable else values)
    names = draw(st.lists(st.sampled_from(list(row)), unique=True)) if draw(st.booleans()) else row
    return {name: row[name] for name in row if name in names}


@st.composite
def _typed(draw: st.DrawFn) -> tuple[TableSchema, EventBatch]:
    table = draw(_tables())
    rows = draw(st.lists(_rows(table), max_size=4))
    events = [
        Event(
            Operation.INSERT,
            Origin("postgres", "0/1", 1),
            2,
            table.table.name,
            schema=table.table.schema,
            after=row,
            schema_id=table.schema_id,
        )
        for row in rows
    ]
    return table, EventBatch.from_events(events)


def _by_the_library(table: TableSchema, datum: bytes) -> bytes:
    """The bytes that Avro's own writer gives for what its reader finds."""
    schema = fastavro.parse_schema(bare(typed_schemas(table).event))
    out = io.BytesIO()
    found: Any = fastavro.schemaless_reader(io.BytesIO(datum), schema, None)
    fastavro.schemaless_writer(out, schema, found)
    return out.getvalue()


@given(_typed())
@settings(max_examples=150)
def test_rows_come_back_as_they_were_when_they_fit_their_table(
    typed: tuple[TableSchema, EventBatch],
) -> None:
    table, events = typed
    form = TypedAvroFormat(History((table,)))
    records = form.encode(events)
    assert envelope(form.decode(records)) == envelope(events)
    assert [_by_the_library(table, record[8:]) for record in records] == [r[8:] for r in records]


@given(_typed(), st.data())
@settings(max_examples=150)
def test_decode_raises_only_data_errors_when_a_record_is_damaged(
    typed: tuple[TableSchema, EventBatch], draw: st.DataObject
) -> None:
    table, events = typed
    form = TypedAvroFormat(History((table,)))
    for record in form.encode(events):
        place = draw.draw(st.integers(0, len(record) - 1))
        byte = draw.draw(st.binary(min_size=1, max_size=1))
        for damaged in (record[:place], record[:place] + byte + record[place + 1 :]):
            try:
                found = form.decode([damaged])
            except DataError:
                continue
            found.records.validate(full=True)
            assert len(list(found)) == 1
