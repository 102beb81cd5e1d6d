"""Logical types: what a column truly holds, whatever database it came from.

The text form (`decimal(10,2)`, `array<int64>`) is what the schema history stores and what typed
readers (Spark, Avro) map from. `dynamic` is a column whose values follow no declared type, as
SQLite allows: its JSON value carries the type.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from headwater.errors import DataError


class Kind(StrEnum):
    """The kinds of value that the canonical rule knows."""

    BOOLEAN = "boolean"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIME = "time"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    INTERVAL = "interval"
    UUID = "uuid"
    JSON = "json"
    ARRAY = "array"
    DYNAMIC = "dynamic"


_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")
_ARRAY = re.compile(r"array<(.+)>")


@dataclass(frozen=True, slots=True)
class LogicalType:
    """A kind with its parameters. `precision` None on a decimal means unbounded."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    element: LogicalType | None = None

    def __str__(self) -> str:
        match self.kind:
            case Kind.DECIMAL if self.precision is not None:
                return f"decimal({self.precision},{self.scale or 0})"
            case Kind.ARRAY:
                return f"array<{self.element}>"
            case _:
                return self.kind.value

    @classmethod
    def parse(cls, text: str) -> LogicalType:
        """Read the text form."""
        if found := _DECIMAL.fullmatch(text):
            return cls(Kind.DECIMAL, precision=int(found[1]), scale=int(found[2]))
        if found := _ARRAY.fullmatch(text):
            return cls(Kind.ARRAY, element=cls.parse(found[1]))
        try:
            return cls(Kind(text))
        except ValueError as exc:
            raise DataError("event-schema", f"unknown logical type {text!r}") from exc
