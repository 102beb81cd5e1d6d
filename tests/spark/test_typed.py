"""Typed columns are exact: what Spark holds is what `to_python` says of the same JSON value."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    TableId,
    TableSchema,
    decode_row,
    encode_row,
    to_python,
)
from headwater.event.value import TEXT_TAG
from headwater.event.verbatim import value_of
from headwater.format.cdcformat.known import KnownSchemas
from headwater.spark.functions.typed import typed
from headwater.spark.source.frame import to_spark
from headwater.testing.strategies import json_values, texts

pytestmark = pytest.mark.spark


WIDE = Context(prec=80)


def _scaled(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**precision - 1
    return st.integers(-bound, bound).map(lambda n: Decimal(n).scaleb(-scale, WIDE))


# Python's own range of years is 1 to 9999; Spark holds more.
FIRST, LAST = map(datetime.fromisoformat, ("0001-01-02", "9999-12-30"))
TIMES = ("0001-01-02T00:00:00.000001", "1582-10-10T01:02:03.000004", "1900-01-01T00:00:00.999999")
MOMENTS = st.datetimes(FIRST, LAST) | st.sampled_from([*map(datetime.fromisoformat, TIMES)])


def _array(of: LogicalType) -> LogicalType:
    return LogicalType(Kind.ARRAY, element=of)


INT64, BYTES = LogicalType(Kind.INT64), LogicalType(Kind.BINARY)
MONEY = LogicalType(Kind.DECIMAL, precision=38, scale=10)
BINARY = st.binary(max_size=9)
JSON = json_values().filter(lambda value: not _too_long(value))
# What a column without a type may hold: no lists, and no objects but tagged bytes.
UNTYPED = st.integers(-(2**63), 2**63 - 1) | st.floats(width=32, allow_nan=False) | texts() | BINARY
KINDS: Mapping[str, tuple[LogicalType, st.SearchStrategy[Any]]] = {
    "boolean": (LogicalType(Kind.BOOLEAN), st.booleans()),
    "int16": (LogicalType(Kind.INT16), st.integers(-(2**15), 2**15 - 1)),
    "int32": (LogicalType(Kind.INT32), st.integers(-(2**31), 2**31 - 1)),
    "int64": (INT64, st.integers(-(2**63), 2**63 - 1)),
    "float32": (LogicalType(Kind.FLOAT32), st.floats(width=32)),
    "float64": (LogicalType(Kind.FLOAT64), st.floats()),
    "money": (MONEY, _scaled(38, 10)),
    "whole": (LogicalType(Kind.DECIMAL, precision=38, scale=0), _scaled(38, 0)),
    "tiny": (LogicalType(Kind.DECIMAL, precision=3, scale=5), _scaled(3, 5)),
    "round": (
        LogicalType(Kind.DECIMAL, precision=2, scale=-3),
        _scaled(2, -3).map(int).map(Decimal),
    ),
    "any_size": (LogicalType(Kind.DECIMAL), _scaled(60, 20)),
    "string": (LogicalType(Kind.STRING), texts()),
    "binary": (BYTES, BINARY | texts().map(lambda text: {TEXT_TAG: text})),
    "date": (LogicalType(Kind.DATE), st.dates(date(1, 1, 1))),
    "time": (LogicalType(Kind.TIME), st.times()),
    "timestamp": (LogicalType(Kind.TIMESTAMP), MOMENTS),
    "timestamptz": (LogicalType(Kind.TIMESTAMPTZ), MOMENTS.map(lambda t: t.replace(tzinfo=UTC))),
    "interval": (LogicalType(Kind.INTERVAL), st.sampled_from(["1 mon", "-00:00:01"])),
    "uuid": (LogicalType(Kind.UUID), st.uuids()),
    "json": (LogicalType(Kind.JSON), JSON),
    "dynamic": (LogicalType(Kind.DYNAMIC), UNTYPED),
    "longs": (_array(INT64), st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=3)),
    "blobs": (_array(BYTES), st.lists(st.none() | BINARY, max_size=3)),
    "sums": (_array(_array(MONEY)), st.lists(st.lists(_scaled(38, 10), max_size=2), max_size=2)),
    "days": (_array(LogicalType(Kind.TIMESTAMP)), st.lists(MOMENTS, max_size=2)),
    "a`b.c": (_array(LogicalType(Kind.JSON)), st.lists(JSON.filter(bool), max_size=2)),
}
SCHEMA = TableSchema(
    TableId("public", "things"),
    tuple(Column(name, logical) for name, (logical, _) in KINDS.items()),
    ("int64",),
)
HISTORY = KnownSchemas({SCHEMA.schema_id: (1, SCHEMA)})
AS_TEXT = (Kind.TIME, Kind.INTERVAL, Kind.UUID)
ROWS = st.lists(
    st.fixed_dictionaries({}, optional={n: st.none() | each for n, (_, each) in KINDS.items()}),
    min_size=1,
    max_size=25,
)


def _too_long(value: Any) -> bool:
    """A variant has integers up to 38 digits, and text of a number is not kept in it."""
    return any(len(part) > 30 for part in json.dumps(value).replace('"', " ").split())


@settings(max_examples=12)
@given(ROWS)
def test_typed_columns_hold_what_the_value_rule_says(
    spark: SparkSession, rows: list[dict[str, Any]]
) -> None:
    images = [encode_row(row) for row in rows]
    frame = spark.createDataFrame(pa.Table.from_batches([to_spark(_events(images))]))
    found = (
        typed(frame, SCHEMA, HISTORY).orderBy("sequence_number").select("before", "after").toArrow()
    )
    assert found.column("before").null_count == len(rows)
    for image, held in zip(images, found.column("after").to_pylist(), strict=True):
        _assert_same(decode_row(image), held)
    variants = typed(frame, SCHEMA, HISTORY, json_as="variant").orderBy("sequence_number")
    texts_of = [f.to_json(f.col(f"after.{name}")).alias(name) for name in ("json", "dynamic")]
    for image, row in zip(images, variants.select(*texts_of).collect(), strict=True):
        told = decode_row(image)
        for name in ("json", "dynamic"):
            text = row[name]
            assert (None if text is None else json.loads(text)) == told.get(name), name


def _events(images: list[str]) -> EventBatch:
    return EventBatch.from_columns(
        {
            "op": int(Operation.INSERT),
            "source_name": "postgres",
            "offset": "0",
            "table_schema": "public",
            "table_name": "things",
            "after": images,
        }
    ).with_sequence(1)


def _assert_same(image: dict[str, Any], held: dict[str, Any]) -> None:
    assert list(held) == list(KINDS)
    for name, (logical, _) in KINDS.items():
        told = image.get(name)
        wanted = told if _is_text(logical) else to_python(told, logical)
        match logical.kind:
            case _ if told is None:
                assert held[name] is None, name
            case Kind.JSON:
                assert held[name] == _compact(told), name
            case Kind.DYNAMIC:
                assert value_of(held[name], logical) == told, name
            case Kind.FLOAT32 | Kind.FLOAT64:
                kind = np.float32 if logical.kind is Kind.FLOAT32 else np.float64
                assert np.array_equal(kind(held[name]), kind(wanted), equal_nan=True), name
            case Kind.ARRAY if logical.element is not None and logical.element.kind is Kind.JSON:
                assert held[name] == [*map(_compact, told)]
            case _:
                assert held[name] == wanted, name


def _compact(value: Any) -> str:
    """The text of a value in an image."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _is_text(logical: LogicalType) -> bool:
    unbounded = logical.kind is Kind.DECIMAL and logical.precision is None
    return logical.kind in AS_TEXT or unbounded
