"""How each logical type stands in Avro: its schema, and a column's values there and back.

Values of a row image come by the value rule (`headwater.event.value`). What would not come back as
it went is refused with ValueError: an infinite timestamp, a number beyond its column's precision.
Floats alone come back as the nearest of their type, in its shortest text.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import Kind, LogicalType
from headwater.format.jsontext import Real, dumps, loads
from headwater.format.octets import OCTETS

Values = list[Any]
Write = Callable[[Sequence[Any]], pa.Array]
Read = Callable[[Sequence[Any]], Values]

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL = re.compile(r"-?\d+(?:\.(\d+))?", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UTC = pa.timestamp("us", tz="UTC")
_LOCAL = pa.timestamp("us")


@dataclass(frozen=True, slots=True)
class Form:
    """One logical type in Avro. Both ways take a column, None for null."""

    avro: Any
    write: Write
    read: Read


def _same(avro: Any, kind: pa.DataType, check: Read) -> Form:
    """A type whose values are the same on both sides."""
    return Form(avro, lambda values: pa.array(check(values), kind), check)


def _text(avro: Any, write: Callable[[str], Any], kind: pa.DataType, read: Read) -> Form:
    """A type that images have as text, and Avro as something else."""
    there = partial(_each, write)
    proven = _proven(str, there, read)
    return Form(avro, lambda values: pa.array(proven(values), kind), read)


def _logical(avro: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": avro, "logicalType": name, **more}


def _each(convert: Callable[[Any], Any], values: Sequence[Any]) -> Values:
    return [None if value is None else convert(value) for value in values]


def _only(kind: type, values: Sequence[Any]) -> Values:
    """The values as they are, if they are all of this very type: True is no integer."""
    if set(map(type, values)) - {kind, type(None)}:
        raise ValueError(f"not a {kind.__name__}")
    return list(values)


def _proven(kind: type, there: Read, back: Read) -> Read:
    """The same way there, with proof that the way back ends where it began."""

    def proven(values: Sequence[Any]) -> Values:
        found = there(_only(kind, values))
        if back(found) != list(values):
            raise ValueError("would not come back as it is")
        return found

    return proven


_STRING = _same("string", pa.large_string(), partial(_only, str))


def _integers(width: pa.DataType, values: Sequence[Any]) -> Values:
    plain = _only(int, values)
    try:
        pa.array(plain, width)
    except (pa.ArrowInvalid, OverflowError) as exc:
        raise ValueError(f"outside {width}") from exc
    return plain


def _integer(avro: str, width: pa.DataType) -> Form:
    return _same(avro, pa.int64(), partial(_integers, width))


def _number(
    avro: str, kind: pa.DataType, write: Callable[[Any], float], read: Callable[[float], Any]
) -> Form:
    return Form(avro, lambda values: pa.array(_each(write, values), kind), partial(_each, read))


def _to_float(value: Any) -> float:
    if type(value) is str:
        return _WORDS[value] if value in _WORDS else _refuse(value)
    if type(value) not in (int, Real):
        return _refuse(value)
    number = float(value.text if isinstance(value, Real) else value)
    if math.isinf(number) or (type(value) is int and int(number) != value):
        return _refuse(value)
    return number


def _to_float32(value: Any) -> float:
    number = _to_float(value)
    if math.isfinite(number) and abs(number) > float(np.finfo(np.float32).max):
        return _refuse(value)
    return number


def _refuse(value: Any) -> float:
    raise ValueError(f"{value!r} is not such a number")


def _from_float(value: float) -> Any:
    return Real(repr(value)) if math.isfinite(value) else _word(value)


def _from_float32(value: float) -> Any:
    return Real(str(np.float32(value))) if math.isfinite(value) else _word(value)


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal(logical: LogicalType) -> Form:
    precision, scale = logical.precision, logical.scale or 0
    if precision is None or not 0 <= scale <= precision:  # Avro has no unbounded ones, and text can
        return _STRING
    avro = _logical("bytes", "decimal", precision=precision, scale=scale)
    read = partial(_each, partial(_decimal_text, scale))
    return _text(avro, partial(_unscaled, precision, scale), OCTETS, read)


def _unscaled(precision: int, scale: int, text: str) -> bytes:
    found = _DECIMAL.fullmatch(text)
    if found is None or len(found[1] or "") != scale:
        raise ValueError(f"not a number with {scale} decimal places")
    number = int(text.replace(".", ""))
    if abs(number) >= 10**precision:
        raise ValueError(f"more than {precision} digits")
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _decimal_text(scale: int, data: bytes) -> str:
    number = int.from_bytes(data, "big", signed=True)
    digits = str(abs(number)).rjust(scale + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}" if scale else f"{sign}{digits}"


def _to_base64(values: Sequence[Any]) -> Values:
    return _each(lambda data: base64.b64encode(data).decode("ascii"), values)


def _uuids(values: Sequence[Any]) -> Values:
    plain = _only(str, values)
    if not all(value is None or _UUID.fullmatch(value) for value in plain):
        raise ValueError("not a UUID in small letters")
    return plain


def _moment(avro: Any, to: pa.DataType, number: pa.DataType) -> Form:
    # Arrow reads no bare time, but the time of a day.
    day, via = ("1970-01-01T", _LOCAL) if pa.types.is_time(to) else ("", to)

    def write(values: Sequence[Any]) -> pa.Array:
        texts = pa.array(_only(str, values), pa.string())
        numbers = pc.binary_join_element_wise(day, texts, "").cast(via).cast(number)
        if not spelled(numbers).equals(texts):
            raise ValueError("would not come back as it is")
        return numbers

    def spelled(numbers: pa.Array) -> pa.Array:
        return pc.replace_substring(numbers.cast(to).cast(pa.string()), " ", "T")

    def read(values: Sequence[Any]) -> Values:
        texts: Values = spelled(pa.array(values, number)).to_pylist()
        if write(texts).to_pylist() != list(values):
            raise ValueError("no such moment")
        return texts

    return Form(avro, write, read)


def _array(element: Form) -> Form:
    def write(values: Sequence[Any]) -> pa.Array:
        given = _only(list, values)
        ends = np.cumsum([0, *(len(value or ()) for value in given)])
        items = element.write([item for value in given for item in value or ()])
        mask = pa.array([value is None for value in given], pa.bool_())
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items, mask=mask)

    items = {"type": "array", "items": ["null", element.avro]}
    return Form(items, write, partial(_each, element.read))


def _json() -> Form:
    return Form(
        "string",
        lambda values: pa.array(_each(dumps, values), pa.large_string()),
        partial(_each, loads),
    )


_SIMPLE = {
    Kind.BOOLEAN: _same("boolean", pa.bool_(), partial(_only, bool)),
    Kind.INT16: _integer("int", pa.int16()),
    Kind.INT32: _integer("int", pa.int32()),
    Kind.INT64: _integer("long", pa.int64()),
    Kind.FLOAT32: _number("float", pa.float32(), _to_float32, _from_float32),
    Kind.FLOAT64: _number("double", pa.float64(), _to_float, _from_float),
    Kind.BINARY: _text("bytes", partial(base64.b64decode, validate=True), OCTETS, _to_base64),
    Kind.DATE: _moment(_logical("int", "date"), pa.date32(), pa.int32()),
    Kind.TIME: _moment(_logical("long", "time-micros"), pa.time64("us"), pa.int64()),
    Kind.TIMESTAMP: _moment(_logical("long", "local-timestamp-micros"), _LOCAL, pa.int64()),
    Kind.TIMESTAMPTZ: _moment(_logical("long", "timestamp-micros"), _UTC, pa.int64()),
    Kind.UUID: _same(_logical("string", "uuid"), pa.large_string(), _uuids),
    Kind.JSON: _json(),
    Kind.DYNAMIC: _json(),
}


def form_of(logical: LogicalType) -> Form:
    """The form of a type; what Avro has no type for is text."""
    match logical.kind:
        case Kind.DECIMAL:
            return _decimal(logical)
        case Kind.ARRAY if logical.element is not None:
            return _array(form_of(logical.element))
        case kind:
            return _SIMPLE.get(kind, _STRING)
