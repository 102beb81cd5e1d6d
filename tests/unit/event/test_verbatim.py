"""Values that are kept as their own text: cut out of images, and told apart."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.event import Kind, LogicalType
from headwater.event.verbatim import Verbatim, value_of
from headwater.testing.strategies import json_values, texts

JSON, DYNAMIC = LogicalType(Kind.JSON), LogicalType(Kind.DYNAMIC)
ITEMS = LogicalType(Kind.ARRAY, element=LogicalType(Kind.ARRAY, element=JSON))


def kept(image: str | bytes | None, logical: LogicalType, name: str = "v") -> Any:
    (found,) = Verbatim({name: logical}).columns([image])[name].to_pylist()
    return found


@pytest.mark.parametrize(
    "text",
    [
        "0.10000000000000000000000000000000000001",
        "123456789012345678901234567890123456789012345",
        "1.00",
        "1E+400",
        '{"a" : 1,  "a":2}',
        '"half \\ud800 a surrogate"',
        '{"deep":[[{"x\\u0000":"}]\\""}]]}',
        '"1"',
        "[ ]",
        "true",
    ],
)
def test_json_is_kept_digit_for_digit_wherever_it_stands(text: str) -> None:
    for image in (f'{{"v":{text}}}', f'{{"a":"\\ud800","v" :\n{text} ,"b":[{text}]}}'):
        assert kept(image, JSON) == text
        assert kept(image.encode(), JSON) == text
        assert kept(image, JSON, name='odd "name"') is None
        odd = image.replace('"v"', '"odd \\"name\\""')
        assert kept(odd, JSON, name='odd "name"') == text


@pytest.mark.parametrize(
    ("image", "text"),
    [
        ('{"v":12.50}', "12.50"),
        ('{"v":"2026-01-02"}', "2026-01-02"),
        ('{"v":"12.50"}', '"12.50"'),
        ('{"v":"007"}', "007"),
        ('{"v":"true"}', '"true"'),
        ('{"v":true}', "true"),
        ('{"v":"\\"x\\""}', '"\\"x\\""'),
        ('{"v":{"$binary":"AA=="}}', '{"$binary":"AA=="}'),
        ('{"v":"{\\"$binary\\":\\"AA==\\"}"}', '"{\\"$binary\\":\\"AA==\\"}"'),
        ('{"v":""}', ""),
        ('{"v":null}', None),
        ("{}", None),
        (None, None),
    ],
)
def test_text_without_a_type_has_quotes_only_where_it_could_be_mistaken(
    image: str | None, text: str | None
) -> None:
    assert kept(image, DYNAMIC) == text


NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
LIKE_OTHERS = st.sampled_from(["1", "-0.5e7", "true", '"', "null", '{"$binary":"AA=="}'])


@given(NUMBERS | st.booleans() | texts() | LIKE_OTHERS | st.just({"$binary": "AA=="}))
def test_values_without_a_type_are_told_apart(value: Any) -> None:
    text = kept(json.dumps({"v": value}), DYNAMIC)
    assert value_of(text, DYNAMIC) == value
    assert type(value_of(text, DYNAMIC)) is type(value)


@given(json_values())
def test_json_is_kept_as_a_text_that_reads_as_it(value: Any) -> None:
    text = kept(json.dumps({"v": value}), JSON)
    assert (None if text is None else value_of(text, JSON)) == value


def test_items_of_arrays_are_kept_as_their_texts() -> None:
    assert kept('{"v":[[1.0, null], null ,[{"a":[1]}, "x"]]}', ITEMS) == [
        ["1.0", None],
        None,
        ['{"a":[1]}', '"x"'],
    ]
    assert kept('{"v":[]}', ITEMS) == []


def test_what_is_no_list_is_refused_or_forgiven() -> None:
    with pytest.raises(DataError, match="value-mistyped") as caught:
        kept('{"v":"[2:3]={1,2}"}', ITEMS)
    assert "{1,2}" not in str(caught.value)  # INV-12
    images = ['{"v":7}', '{"v":' + "[" * 100_000]
    assert Verbatim({"v": ITEMS}, forgiving=True).columns(images)["v"].to_pylist() == [None, None]


@pytest.mark.parametrize("image", ["[]", '{"v":', "", '{"v":1}x', '{"v":' + "[" * 100_000])
def test_what_is_no_image_is_refused(image: str) -> None:
    with pytest.raises(DataError, match="event-invalid") as caught:
        kept(image, JSON)
    assert caught.value.where == ""


def test_row_has_the_other_columns_as_they_are_and_no_more() -> None:
    columns = Verbatim({"a": JSON, "b": DYNAMIC, "c": LogicalType(Kind.FLOAT64)})
    assert columns.row('{"a":1.50,"c":1.50}') == {"a": "1.50", "c": 1.5}


def test_integer_of_any_length_is_kept_digit_for_digit() -> None:
    digits = "-" + "9" * 5_000
    columns = Verbatim({"v": JSON})
    assert columns.row(f'{{"v":{{"n":{digits}}},"w":7}}') == {"v": f'{{"n":{digits}}}', "w": 7}
    assert columns.row(f'{{"v":1,"w":{digits}}}') == {"v": "1", "w": digits}
    assert kept(f'{{"v":[[{digits}]]}}', ITEMS) == [[digits]]
    assert kept(f'{{"odd \\"name\\"":{digits}}}', JSON, name='odd "name"') == digits


@pytest.mark.parametrize("text", ["9" * 5_000, "[" * 100_000 + "]" * 100_000])
def test_what_python_cannot_make_a_value_of_is_refused_with_a_code(text: str) -> None:
    with pytest.raises(DataError, match="value-mistyped"):
        value_of(text, JSON)


@pytest.mark.parametrize("depth", [300, 1_000, 3_000, 100_000])
def test_deep_items_are_kept_or_refused_with_a_code(depth: int) -> None:
    image = f'{{"v":[[{"[" * depth}{"]" * depth}]]}}'
    with suppress(DataError):  # any other error has no code
        assert kept(image, ITEMS) == [["[" * depth + "]" * depth]]
    assert len(Verbatim({"v": ITEMS}, forgiving=True).columns([image])["v"]) == 1
