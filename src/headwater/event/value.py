"""The value rule: one JSON form per logical type, for every source and every path.

Integers are JSON integers, exact; finite floats are JSON numbers in their shortest form that reads
back equal; decimals and the floats that JSON lacks are strings; binary is base64; dates and times
are ISO 8601 with microseconds and `Z` where the type has a zone; json and arrays are JSON.

SQLite lets any value stand in any column. Where a value's own class would be ambiguous under its
column's type (bytes in a text column, text in a binary column), it is tagged with an object of one
member, `{"$binary": base64}` or `{"$text": string}`: seen by every reader, mistaken by none.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from headwater.errors import DataError
from headwater.event.types import Kind, LogicalType

BINARY_TAG = "$binary"
TEXT_TAG = "$text"


def float_text(value: float) -> str:
    """A float's JSON text: shortest that reads back equal; a quoted word where JSON has none."""
    if math.isfinite(value):
        return repr(value)
    if math.isnan(value):
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'


def binary_text(value: bytes) -> str:
    """Base64 of bytes, without line breaks."""
    return base64.b64encode(value).decode("ascii")


def to_json_value(value: object) -> Any:
    """The JSON value of a Python value, by the rule above."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else json.loads(float_text(value))
        case list() | tuple():
            return [to_json_value(item) for item in value]
        case Mapping():
            return {str(name): to_json_value(item) for name, item in value.items()}
        case _:
            return _scalar_text(value)


def _scalar_text(value: object) -> str:
    match value:
        case bytes() | bytearray() | memoryview():
            return binary_text(bytes(value))
        case datetime():  # before date, whose subclass it is
            return _timestamp_text(value)
        case date():
            return value.isoformat()
        case time():
            return value.isoformat(timespec="microseconds")
        case Decimal() | UUID() | timedelta():
            return str(value)
        case _:
            raise DataError("value-unencodable", f"a {type(value).__name__} has no canonical form")


def _timestamp_text(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat(timespec="microseconds")
    in_utc = value.astimezone(UTC).replace(tzinfo=None)
    return in_utc.isoformat(timespec="microseconds") + "Z"


def encode_row(row: Mapping[str, object]) -> str:
    """A row image as compact JSON text, columns in the order given."""
    plain = {name: to_json_value(value) for name, value in row.items()}
    try:
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError as exc:  # an integer of more digits than Python writes
        raise DataError("value-unencodable", str(exc)) from exc


def decode_row(text: str | bytes) -> dict[str, Any]:
    """A row image as a dict; integers stay exact.

    One with more digits than Python makes an integer of is refused.
    """
    return decode_by(text, json.loads)


def decode_by(text: str | bytes, loads: Callable[[str | bytes], Any]) -> dict[str, Any]:
    """A row image as a dict, by this reader of JSON."""
    try:
        row = loads(text)
    except (ValueError, RecursionError) as exc:
        raise DataError("event-invalid", f"a row image cannot be read: {exc}") from exc
    if not isinstance(row, dict):
        raise DataError("event-invalid", "a row image is a JSON object")
    return row


def context_object(text: str) -> str:
    """An application's context as a JSON object, as the event promises; else it is kept as text."""
    try:
        if isinstance(json.loads(text), dict):
            return text
    except ValueError:
        pass
    return json.dumps({"text": text}, ensure_ascii=False)


def to_python(value: Any, logical: LogicalType) -> Any:
    """The typed Python value of a JSON value; what does not fit its type is refused."""
    if value is None:
        return None
    try:
        return _typed(value, logical)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as exc:
        raise DataError(
            "value-mistyped", f"{value!r} is not a {logical}", hint="declare the column dynamic"
        ) from exc


def _typed(value: Any, logical: LogicalType) -> Any:
    match logical.kind:
        case Kind.FLOAT32 | Kind.FLOAT64:
            return float(value)
        case Kind.DECIMAL:
            return Decimal(str(value))
        case Kind.BINARY:
            return _binary(value)
        case Kind.DATE:
            return date.fromisoformat(value)
        case Kind.TIME:
            return time.fromisoformat(value)
        case Kind.TIMESTAMP | Kind.TIMESTAMPTZ:
            return datetime.fromisoformat(value)
        case Kind.UUID:
            return UUID(value)
        case Kind.ARRAY if logical.element is not None:
            if not isinstance(value, list):  # a text would be taken for a list of characters
                raise TypeError(type(value))
            return [to_python(item, logical.element) for item in value]
        case _:
            return value


def _binary(value: Any) -> bytes:
    if isinstance(value, dict):
        return str(value[TEXT_TAG]).encode()
    return base64.b64decode(value, validate=True)
