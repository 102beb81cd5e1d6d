"""The value rule: one JSON form per type, whichever source it came from."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from headwater.errors import DataError
from headwater.event import (
    Kind,
    LogicalType,
    decode_row,
    encode_row,
    to_json_value,
    to_python,
)
from headwater.event.value import float_text

PLUS_TWO = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        (2**63 - 1, 2**63 - 1),
        (2**70, 2**70),
        (0.1, 0.1),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (Decimal("1.10"), "1.10"),
        (b"\x00\xff", "AP8="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"a"), "YQ=="),
        (date(2024, 2, 29), "2024-02-29"),
        (time(1, 2, 3), "01:02:03.000000"),
        (datetime(2024, 1, 2, 3, 4, 5), "2024-01-02T03:04:05.000000"),  # noqa: DTZ001
        (datetime(2024, 1, 2, 3, 4, 5, 6, UTC), "2024-01-02T03:04:05.000006Z"),
        (datetime(2024, 1, 2, 3, 4, 5, 0, PLUS_TWO), "2024-01-02T01:04:05.000000Z"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, [b"a"]), [1, ["YQ=="]]),
        ({"a": Decimal(1)}, {"a": "1"}),
    ],
)
def test_value_has_its_canonical_form_when_encoded(value: object, form: Any) -> None:
    assert to_json_value(value) == form
    assert type(to_json_value(value)) is type(form)


def test_value_is_refused_when_it_has_no_canonical_form() -> None:
    with pytest.raises(DataError) as caught:
        to_json_value(object())
    assert caught.value.code == "value-unencodable"


def test_integer_has_an_error_with_a_code_when_python_neither_reads_nor_writes_its_digits() -> None:
    with pytest.raises(DataError) as caught:
        encode_row({"a": 10**5000})
    assert caught.value.code == "value-unencodable"
    with pytest.raises(DataError) as caught:
        decode_row('{"a":' + "9" * 5000 + "}")
    assert caught.value.code == "event-invalid"


def test_row_text_is_compact_and_keeps_column_order_when_encoded() -> None:
    assert encode_row({"b": "ä\x00", "a": None}) == '{"b":"ä\\u0000","a":null}'


def test_float_text_is_quoted_when_json_has_no_number() -> None:
    assert [float_text(v) for v in (0.1, -0.0, math.nan, -math.inf)] == [
        "0.1", "-0.0", '"NaN"', '"-Infinity"',
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["[1]", "1", "null", '"a"'])
def test_row_is_refused_when_its_text_is_no_object(text: str) -> None:
    with pytest.raises(DataError) as caught:
        decode_row(text)
    assert caught.value.code == "event-invalid"


@pytest.mark.parametrize("text", ["", "{", '{"a":}', b"\xff"])
def test_row_is_refused_when_its_text_is_not_json(text: str | bytes) -> None:
    with pytest.raises(DataError) as caught:
        decode_row(text)
    assert caught.value.code == "event-invalid"


@pytest.mark.parametrize(
    ("kind", "form", "value"),
    [
        ("int64", 5, 5),
        ("float64", "NaN", math.nan),
        ("float64", "-Infinity", -math.inf),
        ("float64", 1, 1.0),
        ("decimal(10,2)", "1.10", Decimal("1.10")),
        ("decimal", 3, Decimal(3)),
        ("binary", "AP8=", b"\x00\xff"),
        ("binary", {"$text": "ä"}, "ä".encode()),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("time", "01:02:03.000004", time(1, 2, 3, 4)),
        ("timestamptz", "2024-01-02T03:04:05.000006Z", datetime(2024, 1, 2, 3, 4, 5, 6, UTC)),
        ("uuid", "00000000-0000-0000-0000-000000000001", UUID(int=1)),
        ("array<binary>", ["YQ==", None], [b"a", None]),
        ("json", {"a": 1}, {"a": 1}),
        ("date", None, None),
    ],
)
def test_typed_value_is_recovered_when_its_type_is_known(
    kind: str, form: Any, value: object
) -> None:
    typed = to_python(form, LogicalType.parse(kind))
    assert typed == value or (isinstance(typed, float) and math.isnan(typed))
    assert type(typed) is type(value)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("date", "tomorrow"),
        ("decimal", "ten"),
        ("binary", "***"),
        ("binary", {"$other": 1}),
        ("uuid", "x"),
        ("uuid", 5),
        ("float64", []),
        ("timestamp", 5),
        ("array<date>", 5),
        ("array<string>", "[2:3]={a,b}"),
    ],
)
def test_typed_value_is_refused_when_it_does_not_fit(kind: str, form: Any) -> None:
    with pytest.raises(DataError) as caught:
        to_python(form, LogicalType.parse(kind))
    assert caught.value.code == "value-mistyped"


def test_logical_type_is_refused_when_unknown() -> None:
    with pytest.raises(DataError, match="unknown logical type 'money'"):
        LogicalType.parse("money")


@pytest.mark.parametrize("text", ["decimal(10,2)", "decimal", "array<array<int16>>", "dynamic"])
def test_logical_type_prints_what_it_parsed(text: str) -> None:
    assert str(LogicalType.parse(text)) == text


def test_logical_type_has_its_parameters_when_parsed() -> None:
    assert LogicalType.parse("decimal(5,-2)") == LogicalType(Kind.DECIMAL, 5, -2)
    assert LogicalType.parse("array<date>").element == LogicalType(Kind.DATE)
