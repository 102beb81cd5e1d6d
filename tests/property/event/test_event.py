"""The vocabulary's laws, for any valid batch and any value."""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.event import (
    Column,
    EventBatch,
    ForeignKey,
    Kind,
    LogicalType,
    Position,
    TableId,
    TableSchema,
    decode_row,
    encode_row,
    event_ids,
    to_json_value,
    to_python,
    uuid_strings,
    validate,
)
from headwater.event.identity import NAMESPACE
from headwater.testing.strategies import event_batches, json_values, rows, texts

relaxed = settings(deadline=None, max_examples=40)

SIMPLE = [kind for kind in Kind if kind is not Kind.ARRAY]
logical_types = st.recursive(
    st.sampled_from(SIMPLE).map(LogicalType)
    | st.builds(
        lambda precision, scale: LogicalType(Kind.DECIMAL, precision, scale),
        st.integers(1, 1000),
        st.integers(-1000, 1000),
    ),
    lambda inner: inner.map(lambda element: LogicalType(Kind.ARRAY, element=element)),
    max_leaves=3,
)
names = st.lists(texts(min_size=1), max_size=3).map(tuple)
table_ids = st.builds(TableId, st.none() | texts(), texts(min_size=1))
schemas = st.builds(
    TableSchema,
    table_ids,
    st.lists(
        st.builds(Column, texts(), logical_types, st.booleans(), texts(), st.booleans()), max_size=3
    ).map(tuple),
    names,
    st.lists(st.builds(ForeignKey, names, table_ids, names, texts()), max_size=2).map(tuple),
)
TYPED: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INT64: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT64: st.floats(allow_nan=False),
    Kind.DECIMAL: st.decimals(allow_nan=False, allow_infinity=False),
    Kind.STRING: texts(),
    Kind.BINARY: st.binary(),
    Kind.DATE: st.dates(),
    Kind.TIME: st.times(),
    Kind.TIMESTAMP: st.datetimes(),
    Kind.TIMESTAMPTZ: st.datetimes(timezones=st.just(UTC)),
    Kind.UUID: st.uuids(),
    Kind.JSON: json_values(),
}


@relaxed
@given(batch=event_batches())
def test_batch_is_valid_and_equal_when_built_again_from_its_events(batch: EventBatch) -> None:
    validate(batch)
    again = EventBatch.from_events(list(batch), closes_transaction=batch.closes_transaction)
    assert again.equals(batch)
    assert (again.ends_transaction() == batch.ends_transaction()).all()


@relaxed
@given(batch=event_batches(min_size=1), draw=st.data())
def test_slices_join_to_the_batch_and_keep_its_borders_when_cut_anywhere(
    batch: EventBatch, draw: st.DataObject
) -> None:
    cut = draw.draw(st.integers(0, len(batch)))
    left, right = batch.slice(0, cut), batch.slice(cut)
    assert EventBatch.concat([left, right]).equals(batch)
    borders = batch.borders().tolist()
    assert left.borders().tolist() + right.borders().tolist() == borders
    assert right.closes_transaction == batch.closes_transaction or len(right) == 0


@relaxed
@given(row=rows())
def test_row_reads_back_equal_when_encoded(row: dict[str, Any]) -> None:
    text = encode_row(row)
    assert encode_row(decode_row(text)) == text
    assert json.dumps(decode_row(text)) == json.dumps(row)


@settings(deadline=None, max_examples=300)
@given(draw=st.data(), kind=st.sampled_from(sorted(TYPED)))
def test_value_reads_back_typed_when_encoded_by_the_rule(draw: st.DataObject, kind: Kind) -> None:
    value = draw.draw(TYPED[kind])
    form = json.loads(json.dumps(to_json_value(value)))
    back = to_python(form, LogicalType(kind))
    assert back == value
    assert type(back) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, back) == math.copysign(1, value)
    if isinstance(value, Decimal):
        assert str(back) == str(value)
    assert isinstance(form, str) or not isinstance(value, (Decimal, bytes, date, time, datetime))


@given(kind=logical_types)
def test_logical_type_reads_back_equal_when_printed(kind: LogicalType) -> None:
    assert LogicalType.parse(str(kind)) == kind


@given(schema=schemas)
def test_table_schema_reads_back_equal_when_encoded(schema: TableSchema) -> None:
    again = TableSchema.from_dict(json.loads(schema.encode()))
    assert again == schema
    assert again.schema_id == schema.schema_id
    assert 0 < schema.schema_id < 2**63


@given(identity=texts(), offsets=st.lists(texts(), max_size=5), skip=st.integers(0, 5))
def test_event_ids_equal_uuid5_when_computed_as_a_column(
    identity: str, offsets: list[str], skip: int
) -> None:
    expected = [uuid5(uuid5(NAMESPACE, identity), offset) for offset in offsets]
    ids = event_ids(identity, offsets)
    assert [UUID(bytes=raw) for raw in ids.to_pylist()] == expected
    assert uuid_strings(ids.slice(skip)).to_pylist() == [str(one) for one in expected[skip:]]


@given(token=st.dictionaries(texts(), json_values(), max_size=4))
def test_position_reads_back_equal_when_encoded(token: dict[str, Any]) -> None:
    position = Position(token)
    assert Position.decode(position.encode()).encode() == position.encode()
