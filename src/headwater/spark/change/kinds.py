"""The types of a table's columns, as text: which there are, and which can hold which. Pure."""

from __future__ import annotations

import re
from typing import Literal

from headwater.event import Kind, LogicalType

_SCALARS = {
    Kind.BOOLEAN: "boolean",
    Kind.INT16: "smallint",
    Kind.INT32: "int",
    Kind.INT64: "bigint",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.BINARY: "binary",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
    Kind.TIMESTAMPTZ: "timestamp",
}
TEXT = "string"
JsonAs = Literal["string", "variant"]
_MAX_PRECISION = 38
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_ARRAY = re.compile(r"array<(.+)>")

_WIDER = {
    ("smallint", "int"),
    ("smallint", "bigint"),
    ("smallint", "double"),
    ("int", "bigint"),
    ("int", "double"),
    ("float", "double"),
    ("date", "timestamp_ntz"),
}
_TIMES = ("date", "timestamp_ntz", "timestamp")
# Delta counts a smallint as an int here.
_DIGITS = {"smallint": 10, "int": 10, "bigint": 20}


def stored_type(logical: LogicalType, json_as: JsonAs = "string") -> str:
    """The type of a table's column. What Spark has no exact type for is kept as text."""
    match logical.kind:
        case Kind.DECIMAL:
            return _decimal(logical)
        case Kind.ARRAY if logical.element is not None:
            return f"array<{stored_type(logical.element, json_as)}>"
        case Kind.JSON | Kind.DYNAMIC:
            return json_as
        case kind:
            return _SCALARS.get(kind, TEXT)


def _decimal(logical: LogicalType) -> str:
    """PostgreSQL has scales below zero and above the precision; Spark needs digits for them."""
    if logical.precision is None:
        return TEXT
    scale = max(logical.scale or 0, 0)
    precision = max(logical.precision - min(logical.scale or 0, 0), scale)
    return f"decimal({precision},{scale})" if precision <= _MAX_PRECISION else TEXT


def logical_of(kind: str) -> LogicalType | None:
    """A logical type that is stored so; None if we would never make such a column."""
    if found := _DECIMAL.fullmatch(kind):
        return LogicalType(Kind.DECIMAL, precision=int(found[1]), scale=int(found[2]))
    if found := _ARRAY.fullmatch(kind):
        element = logical_of(found[1])
        return None if element is None else LogicalType(Kind.ARRAY, element=element)
    if kind == TEXT:
        return LogicalType(Kind.STRING)
    return next((LogicalType(each) for each, name in _SCALARS.items() if name == kind), None)


def widens(old: str, new: str) -> bool:
    """Whether a column of the old type can become one of the new, each value staying what it is.

    These are the changes of type that a Delta table takes without rewriting its files.
    """
    if (old, new) in _WIDER:
        return True
    inner, outer = _ARRAY.fullmatch(old), _ARRAY.fullmatch(new)
    if inner and outer:
        return widens(inner[1], outer[1])
    if target := _DECIMAL.fullmatch(new):
        precision, scale = int(target[1]), int(target[2])
        if old in _DIGITS:
            return precision - scale >= _DIGITS[old]
        if source := _DECIMAL.fullmatch(old):
            whole = int(source[1]) - int(source[2])
            return old != new and scale >= int(source[2]) and precision - scale >= whole
    return False


def casts(old: str, new: str) -> bool:
    """Whether a value of one type may be one of the other; Spark has no such cast, if not.

    A text may be any value but a list or bytes, and the other way. A number is no day.
    """
    inner, outer = _ARRAY.fullmatch(old), _ARRAY.fullmatch(new)
    if inner and outer:
        return casts(inner[1], outer[1])
    if inner or outer:
        return False
    if "binary" in (old, new):
        return old == new
    return TEXT in (old, new) or (old in _TIMES) == (new in _TIMES)


def keeps_room(old: str, new: str) -> bool:
    """Whether a column may stay of the old type when its source goes to the new, smaller one.

    Not where the source rounds or cuts its values for that: no event tells of it.
    """
    inner, outer = _ARRAY.fullmatch(old), _ARRAY.fullmatch(new)
    if inner and outer:
        return keeps_room(inner[1], outer[1])
    scale = _scale(new)
    return widens(new, old) and scale is not None and scale == _scale(old)


def _scale(kind: str) -> int | None:
    """Digits behind the point; None for what has no fixed number of them."""
    found = _DECIMAL.fullmatch(kind)
    return int(found[2]) if found else 0 if kind in _DIGITS else None
