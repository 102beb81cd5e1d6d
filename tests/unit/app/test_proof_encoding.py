"""The text that rows are hashed as. That Spark writes the same is proven in tests/spark."""

from __future__ import annotations

from typing import Any

import pytest

from headwater.app.proof.encoding import Encoder, text_of
from headwater.event import Column, Kind, LogicalType, TableId, TableSchema


def encoder(**kinds: Kind) -> Encoder:
    columns = tuple(Column(name, LogicalType(kind), nullable=True) for name, kind in kinds.items())
    return Encoder(TableSchema(TableId(None, "t"), columns, ("a",)))


BOTH = encoder(a=Kind.STRING, b=Kind.STRING, c=Kind.STRING)


def test_hash_is_equal_when_only_order_or_nulls_differ() -> None:
    assert BOTH.hash({"a": "1", "b": None, "c": "é"}) == BOTH.hash({"c": "é", "a": "1"})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ({"a": "x"}, {"b": "x"}),
        ({"a": "x", "b": ""}, {"a": "x"}),
        ({"a": "1:b1:y"}, {"a": "", "b": "y"}),
        ({"a": "x", "b": "y"}, {"a": "xy"}),
    ],
)
def test_hash_differs_when_values_stand_elsewhere(
    left: dict[str, Any], right: dict[str, Any]
) -> None:
    assert BOTH.hash(left) != BOTH.hash(right)


def test_place_follows_the_key_alone_when_there_is_one() -> None:
    assert BOTH.place({"a": "1", "b": "x"}) == BOTH.place({"a": "1", "b": "y"})
    assert BOTH.place({"a": "1"}) != BOTH.place({"a": "2"})
    bag = Encoder(TableSchema(TableId(None, "t"), (Column("b", LogicalType(Kind.STRING)),), ()))
    assert bag.place({"b": "x"}) == bag.hash({"b": "x"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "0x1.0p0"),
        (0.1, "0x1.999999999999ap-4"),
        (-0.0, "-0x0.0p0"),
        (5e-324, "0x0.0000000000001p-1022"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("no number", "no number"),
    ],
)
def test_float_has_java_s_hexadecimal_text(value: Any, text: str) -> None:
    assert text_of(LogicalType(Kind.FLOAT64))(value) == text


def test_single_is_rounded_to_its_own_precision() -> None:
    assert text_of(LogicalType(Kind.FLOAT32))(0.1) == "0x1.99999ap-4"


def test_arrays_keep_nothing_and_empty_apart() -> None:
    texts = text_of(LogicalType(Kind.ARRAY, element=LogicalType(Kind.STRING)))
    said = [texts(value) for value in ([], [None], [""], ["-"], ["a,1:b"], ["a", "b"])]
    assert len(set(said)) == len(said)


def test_json_is_hashed_as_it_stands_in_the_image() -> None:
    both = encoder(a=Kind.INT64, b=Kind.JSON, c=Kind.DYNAMIC)
    images = [
        '{"a":1,"b":0.10,"c":"1"}',
        '{"a":1,"b":0.1,"c":"1"}',
        '{"a":1,"b":0.1000000000000000000000000000001,"c":"1"}',
        '{"a":1,"b":"0.1","c":"1"}',
        '{"a":1,"b":{"x":1,"x":2},"c":"1"}',
        '{"a":1,"b":{"x":2},"c":"1"}',
        '{"a":1,"b":{"x":2},"c":1}',
    ]
    hashes = [both.hash(both.row(image)) for image in images]
    assert len(set(hashes)) == len(images)


def test_key_is_named_by_its_value_when_it_has_no_type() -> None:
    columns = (Column("k", LogicalType(Kind.DYNAMIC)),)
    keyed = Encoder(TableSchema(TableId(None, "t"), columns, ("k",)))
    names = [keyed.name(keyed.row(image)) for image in ('{"k":1}', '{"k":"1"}', '{"k":"a"}')]
    assert names == ['{"k":1}', '{"k":"1"}', '{"k":"a"}']
