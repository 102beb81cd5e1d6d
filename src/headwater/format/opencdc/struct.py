"""Rows in a google.protobuf.Struct, where they come out as they went in.

A Struct has only doubles for numbers and no order of names. A row fits if nothing of it would be
bent: integers within 53 bits, floats in their shortest text, names of nested objects in order. The
order of columns is kept beside it. What does not fit travels as raw JSON.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headwater.format.jsontext import Real, loads
from headwater.format.library import missing_extra

try:
    from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value
except ModuleNotFoundError as exc:
    raise missing_extra("protobuf", exc) from exc

Row = dict[str, Any]

_EXACT = 1 << 53


@dataclass(frozen=True, slots=True)
class Order:
    """The order of a record's column names."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Order:
        """The order that the rows have, the first row's before the others'."""
        return cls(tuple(dict.fromkeys(name for row in rows for name in row)))

    @classmethod
    def read(cls, text: str | None) -> Order:
        """The order from a record. ValueError if it is none."""
        names = [] if text is None else loads(text)
        if type(names) is not list or not all(type(name) is str for name in names):
            raise ValueError("the order of columns is damaged")
        return cls(tuple(names))

    @property
    def differs(self) -> bool:
        """Whether it must be told: names in alphabetical order need not."""
        return list(self.names) != sorted(self.names)

    def arrange(self, names: Iterable[str]) -> list[str]:
        """The names in this order; those it does not have, in alphabetical order behind."""
        place = {name: at for at, name in enumerate(self.names)}
        return sorted(names, key=lambda name: (place.get(name, len(place)), name))


def fits(row: Row, order: Order) -> bool:
    """Whether the row comes out of a Struct as it is."""
    return list(row) == order.arrange(row) and all(map(_fits, row.values()))


def _fits(value: Any) -> bool:
    match value:
        case dict():
            return list(value) == sorted(value) and all(map(_fits, value.values()))
        case list():
            return all(map(_fits, value))
        case bool():
            return True
        case int():
            return -_EXACT <= value <= _EXACT
        case Real():
            number = float(value.text)
            return math.isfinite(number) and _number(number) == value
        case _:
            return True


def write_struct(row: Row) -> Any:
    """The row as a Struct."""
    return Struct(fields={name: _value(item) for name, item in row.items()})


def read_struct(struct: Any, order: Order) -> Row:
    """The row of a Struct. ValueError for a number that JSON has no text for."""
    return {name: _read(struct.fields[name]) for name in order.arrange(struct.fields)}


def _value(value: Any) -> Any:
    match value:
        case None:
            return Value(null_value=NULL_VALUE)
        case bool():
            return Value(bool_value=value)
        case int():
            return Value(number_value=value)
        case Real():
            return Value(number_value=float(value.text))
        case str():
            return Value(string_value=value)
        case list():
            return Value(list_value=ListValue(values=[_value(item) for item in value]))
        case _:
            return Value(struct_value=write_struct(value))


def _read(value: Any) -> Any:
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "number_value":
            return _number(value.number_value)
        case "string_value":
            return value.string_value
        case "list_value":
            return [_read(item) for item in value.list_value.values]
        case "struct_value":
            fields = value.struct_value.fields
            return {name: _read(fields[name]) for name in sorted(fields)}
        case _:
            return None


def _number(number: float) -> int | Real:
    if not math.isfinite(number):
        raise ValueError(f"{number} is not JSON")
    if number.is_integer() and abs(number) <= _EXACT and repr(number) != "-0.0":
        return int(number)
    return Real(repr(number))
