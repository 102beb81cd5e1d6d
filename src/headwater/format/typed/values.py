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

Values = list[Any]
Convert = Callable[[Sequence[Any]], Values]

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_DECIMAL = re.compile(r"-?\d+(?:\.(\d+))?", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UTC = pa.timestamp("us", tz="UTC")
_LOCAL = pa.timestamp("us")


@dataclass(frozen=True, slots=True)
class Form:
    """One logical type in Avro. Both ways take a column, None for null."""

    avro: Any
    write: Convert
    read: Convert


def _same(avro: Any, check: Convert) -> Form:
    """A type whose values are the same on both sides."""
    return Form(avro, check, check)


def _logical(avro: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": avro, "logicalType": name, **more}


def _each(convert: Callable[[Any], Any], values: Sequence[Any]) -> Values:
    return [None if value is None else convert(value) for value in values]


def _only(kind: type, values: Sequence[Any]) -> Values:
    """The values as they are, if they are all of this very type: True is no integer."""
    if set(map(type, values)) - {kind, type(None)}:
        raise ValueError(f"not a {kind.__name__}")
    return list(values)


def _proven(kind: type, there: Convert, back: Convert) -> Convert:
    """The same way there, with proof that the way back ends where it began."""

    def proven(values: Sequence[Any]) -> Values:
        found = there(_only(kind, values))
        if back(found) != list(values):
            raise ValueError("would not come back as it is")
        return found

    return proven


_TEXT = _same("string", partial(_only, str))


def _integers(width: pa.DataType, values: Sequence[Any]) -> Values:
    plain = _only(int, values)
    try:
        pa.array(plain, width)
    except (pa.ArrowInvalid, OverflowError) as exc:
        raise ValueError(f"outside {width}") from exc
    return plain


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
        return _TEXT
    avro = _logical("bytes", "decimal", precision=precision, scale=scale)
    read = partial(_each, partial(_decimal_text, scale))
    return Form(
        avro, _proven(str, partial(_each, partial(_unscaled, precision, scale)), read), read
    )


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


def _from_base64(values: Sequence[Any]) -> Values:
    return _each(partial(base64.b64decode, validate=True), values)


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

    def write(values: Sequence[Any]) -> Values:
        texts = pc.binary_join_element_wise(day, pa.array(values, pa.string()), "")
        found: Values = texts.cast(via).cast(number).to_pylist()
        return found

    def read(values: Sequence[Any]) -> Values:
        texts = pa.array(values, number).cast(to).cast(pa.string())
        found: Values = pc.replace_substring(texts, " ", "T").to_pylist()
        return found

    return Form(avro, _proven(str, write, read), _proven(int, read, write))


def _array(element: Form) -> Form:
    def write(value: Any) -> Values:
        if type(value) is not list:
            raise ValueError("not a list")
        return element.write(value)

    items = {"type": "array", "items": ["null", element.avro]}
    return Form(items, partial(_each, write), partial(_each, element.read))


_SIMPLE = {
    Kind.BOOLEAN: _same("boolean", partial(_only, bool)),
    Kind.INT16: _same("int", partial(_integers, pa.int16())),
    Kind.INT32: _same("int", partial(_integers, pa.int32())),
    Kind.INT64: _same("long", partial(_integers, pa.int64())),
    Kind.FLOAT32: Form("float", partial(_each, _to_float32), partial(_each, _from_float32)),
    Kind.FLOAT64: Form("double", partial(_each, _to_float), partial(_each, _from_float)),
    Kind.BINARY: Form("bytes", _proven(str, _from_base64, _to_base64), _to_base64),
    Kind.DATE: _moment(_logical("int", "date"), pa.date32(), pa.int32()),
    Kind.TIME: _moment(_logical("long", "time-micros"), pa.time64("us"), pa.int64()),
    Kind.TIMESTAMP: _moment(_logical("long", "local-timestamp-micros"), _LOCAL, pa.int64()),
    Kind.TIMESTAMPTZ: _moment(_logical("long", "timestamp-micros"), _UTC, pa.int64()),
    Kind.UUID: _same(_logical("string", "uuid"), _uuids),
    Kind.JSON: Form("string", partial(_each, dumps), partial(_each, loads)),
    Kind.DYNAMIC: Form("string", partial(_each, dumps), partial(_each, loads)),
}


def form_of(logical: LogicalType) -> Form:
    """The form of a type; what Avro has no type for is text."""
    match logical.kind:
        case Kind.DECIMAL:
            return _decimal(logical)
        case Kind.ARRAY if logical.element is not None:
            return _array(form_of(logical.element))
        case kind:
            return _SIMPLE.get(kind, _TEXT)
