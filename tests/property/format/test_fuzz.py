"""Bytes from outside end in a coded error or an event, whatever they are, and soon."""

from __future__ import annotations

import json
import random
import zlib
from functools import cache
from typing import Any

import pytest
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater import formats
from headwater.errors import DataError
from headwater.event import EventBatch, Operation
from headwater.format.jsontext import MAX_RECORD_BYTES
from headwater.testing.strategies import json_values
from tests.property.format import records

# Typed rows are of tables that are known: tests/property/format/test_typed.py.
NAMES = tuple(name for name in formats.names() if name != "headwater-avro-typed")
TEXTS = ("headwater-json", "opencdc", "cdc-format", "debezium", "debezium-schema", "cloudevents")
relaxed = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def survive(name: str, record: bytes) -> None:
    """Read it; if that works, it can be written and read again."""
    try:
        batch = formats.decode([record], name)
    except DataError as error:
        assert error.where == "record 0"  # noqa: PT017
        return
    batch.records.validate(full=True)
    assert len(list(batch)) == 1
    try:
        again = formats.encode(batch, name)
    except DataError:
        return
    formats.decode(again, name)


@cache
def sample(name: str) -> list[bytes]:
    operations = records.ROWS if name == "cdc-format" else tuple(Operation)
    return list(formats.encode(records.batch(random.Random(name), 30, operations), name))


@relaxed
@given(record=st.binary(max_size=300), name=st.sampled_from(NAMES))
def test_decode_survives_any_bytes(record: bytes, name: str) -> None:
    survive(name, record)


def nodes(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else ()
    return [path, *(deep for name, item in items for deep in nodes(item, (*path, name)))]


@settings(relaxed, max_examples=300)
@given(name=st.sampled_from(TEXTS), draw=st.data(), value=json_values())
def test_decode_survives_a_record_with_any_member_replaced(
    name: str, draw: st.DataObject, value: Any
) -> None:
    tree = json.loads(draw.draw(st.sampled_from(sample(name))))
    path = draw.draw(st.sampled_from(nodes(tree)[1:]))
    parent = tree
    for step in path[:-1]:
        parent = parent[step]
    if draw.draw(st.booleans()):
        parent[path[-1]] = value
    else:
        del parent[path[-1]]
    survive(name, json.dumps(tree).encode())


@settings(relaxed, max_examples=150)
@given(name=st.sampled_from(NAMES), draw=st.data())
def test_decode_survives_a_record_that_is_cut_or_damaged(name: str, draw: st.DataObject) -> None:
    record = draw.draw(st.sampled_from(sample(name)))
    place = draw.draw(st.integers(0, len(record)))
    patch = draw.draw(st.binary(max_size=3))
    survive(name, record[:place])
    survive(name, record[:place] + patch + record[place + len(patch) :])


def struct_bomb(depth: int) -> bytes:
    """An OpenCDC message whose row is a list in a list in a list."""
    value = b""
    for tag in (b"\x0a", b"\x32") * depth:  # the list's item, the value's list
        value = delimited(tag, value)
    entry = delimited(b"\x0a", delimited(b"\x0a", b"a") + delimited(b"\x12", value))
    return delimited(b"\x2a", delimited(b"\x12", delimited(b"\x12", entry)))


def delimited(tag: bytes, value: bytes) -> bytes:
    return b"".join((tag, _VarintBytes(len(value)), value))


DEEP_STRUCT = struct_bomb(5_000)
# A datum without images up to its key, which says that it has 2 ** 62 names.
MANY_NAMES = b"\x00\x00\x00\x02s\x021\x00\x00\x00\x02t" + _VarintBytes(2**63) + b"\x00" * 1_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "bomb",
    [
        b"[" * 200_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"version":' + b"9" * 100_000 + b"}",
        b'{"a":"' + b"\\u0000" * 200_000,
        b"\x0a\xff\xff\xff\xff\x7f",
        b"\x0b" * 200_000,
        DEEP_STRUCT,
        b"\x02\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        MANY_NAMES,
        zlib.compress(b"0" * 10_000_000),
    ],
    ids=[
        "brackets",
        "nesting",
        "digits",
        "escapes",
        "proto-length",
        "proto-groups",
        "proto-structs",
        "avro-length",
        "avro-names",
        "zlib",
    ],
)
def test_decode_refuses_a_bomb(name: str, bomb: bytes) -> None:
    with pytest.raises(DataError) as caught:
        formats.decode([bomb], name)
    assert caught.value.code == "format-bad-record"


@pytest.mark.parametrize("name", NAMES)
def test_decode_refuses_a_record_that_is_too_large(name: str) -> None:
    with pytest.raises(DataError, match="more than"):
        formats.decode([b" " * (MAX_RECORD_BYTES + 1)], name)


@pytest.mark.parametrize("depth", [600, 5000])
@pytest.mark.parametrize("name", NAMES)
def test_deep_row_is_written_or_refused_with_a_code(name: str, depth: int) -> None:
    row = '{"a":' * depth + "1" + "}" * depth
    batch = EventBatch.from_columns(
        {"op": [1], "source_name": "s", "offset": "1", "ts_ms": 1, "table_name": "t", "after": row}
    )
    try:
        records_written = formats.encode(batch, name)
    except DataError as error:
        assert error.code == "format-unwritable"  # noqa: PT017
        return
    survive(name, records_written[0])
