"""Durations and sizes as people write them: `5s`, `7d`, `10GB`. A bare number has no unit: refused.

Both are values of their own, so a number of seconds is never mistaken for a number of bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_TEXT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*([a-zA-Z]+)", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class _Quantity:
    """A whole number of the smallest unit, written as a number with a unit."""

    amount: int

    UNITS: ClassVar[dict[str, int]]
    NOUN: ClassVar[str]
    EXAMPLES: ClassVar[tuple[str, ...]]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text form; ValueError tells what is expected."""
        found = _TEXT.fullmatch(text.strip())
        if found is None or found[2] not in cls.UNITS:
            units = ", ".join(cls.UNITS)
            raise ValueError(f"expected {cls.NOUN} such as {cls.EXAMPLES[0]} (units: {units})")
        return cls(int(Decimal(found[1]) * cls.UNITS[found[2]]))

    def __str__(self) -> str:
        """The shortest text that reads back as the same value."""
        fitting = [unit for unit, factor in self.UNITS.items() if self.amount % factor == 0]
        unit = max(fitting, key=lambda name: self.UNITS[name] if self.amount else -1)
        return f"{self.amount // self.UNITS[unit]}{unit}"

    @classmethod
    def validated(cls, value: Any) -> Self:
        """The value of a setting, which is text with a unit."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        raise ValueError(f"expected {cls.NOUN} with its unit, such as {cls.EXAMPLES[0]}")

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.validated, serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        units = "|".join(cls.UNITS)
        return {
            "type": "string",
            "pattern": rf"^\d+(\.\d+)?\s*({units})$",
            "examples": list(cls.EXAMPLES),
        }


class Duration(_Quantity):
    """A length of time; exact to the millisecond."""

    __slots__ = ()
    UNITS: ClassVar[dict[str, int]] = {
        "ms": 1,
        "s": 1000,
        "m": 60_000,
        "h": 3_600_000,
        "d": 86_400_000,
        "w": 604_800_000,
    }
    NOUN: ClassVar[str] = "a duration"
    EXAMPLES: ClassVar[tuple[str, ...]] = ("5s", "200ms", "15m", "7d")

    @property
    def ms(self) -> int:
        """The whole milliseconds."""
        return self.amount

    @property
    def seconds(self) -> float:
        """The seconds, for timers."""
        return self.amount / 1000


class Size(_Quantity):
    """A number of bytes: `GB` counts in powers of ten, `GiB` in powers of two."""

    __slots__ = ()
    UNITS: ClassVar[dict[str, int]] = {
        "B": 1,
        "KB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "TB": 10**12,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
        "TiB": 2**40,
    }
    NOUN: ClassVar[str] = "a size"
    EXAMPLES: ClassVar[tuple[str, ...]] = ("10GB", "512MiB")

    @property
    def bytes(self) -> int:
        """The whole bytes."""
        return self.amount
