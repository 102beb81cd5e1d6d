"""JSON text to values and back, exactly: no number is rounded, no name is reordered.

Python's floats would round a number that some database wrote with more digits, so numbers with a
fraction or an exponent are kept as the text they are (`Real`). Integers are exact as they come.
Text from outside is bounded in bytes and in depth, and half a surrogate pair is refused: no UTF-8
carrier could hold it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring
from typing import Any

MAX_RECORD_BYTES = 64 << 20
MAX_DEPTH = 128


class Real:
    """A JSON number with a fraction or an exponent: equal where its text is."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Real) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Real({self.text})"


class _HoldsRealError(Exception):
    """The fast encoder met a Real."""


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _stop(_value: object) -> Any:
    raise _HoldsRealError


_DECODER = json.JSONDecoder(parse_float=Real, parse_constant=_refuse_constant)
# JSONEncoder.encode makes a new one of these for every value, which costs more than a small row.

_encode_chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    markers=None,
    default=_stop,
    encoder=encode_basestring,
    indent=None,
    key_separator=":",
    item_separator=",",
    sort_keys=False,
    skipkeys=False,
    allow_nan=False,
)


def loads(text: str) -> Any:
    """The value of JSON text from outside. ValueError if it is none, or nested too deeply."""
    bare = text.strip(" \t\r\n")
    try:
        value, end = _DECODER.raw_decode(bare)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    if end != len(bare):
        raise ValueError(f"characters follow the JSON text at {end}")
    if bare.count("[") + bare.count("{") > MAX_DEPTH:
        _check_depth(value)
    if "\\u" in bare:
        _refuse_lone_surrogates(value)
    return value


def loads_object(record: bytes) -> dict[str, Any]:
    """The members of a record that must be a JSON object in UTF-8. ValueError if it is none."""
    if len(record) > MAX_RECORD_BYTES:
        raise ValueError(f"{len(record)} bytes are more than {MAX_RECORD_BYTES}")
    value = loads(str(record, "utf-8"))
    if type(value) is not dict:
        raise ValueError("not a JSON object")
    return value


def loads_all(texts: Sequence[str]) -> list[Any]:
    """The values of many texts, read in one go. ValueError if one of them is not JSON."""
    try:
        values: list[Any] = _DECODER.decode(f"[{','.join(texts)}]")
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    if len(values) != len(texts):
        raise ValueError("a text is not one JSON value")
    return values


def dumps(value: Any) -> str:
    """Compact text, members in their order, numbers as they were read."""
    try:
        return "".join(_encode_chunks(value, 0))
    except _HoldsRealError:
        return _write(value)


def canonical(value: Any) -> str:
    """Compact text with the names of every object in order: equal where the values are."""
    return dumps(_sorted(value))


def _write(value: Any) -> str:
    if type(value) is Real:
        return value.text
    if type(value) is dict:
        members = (f"{encode_basestring(name)}:{_write(item)}" for name, item in value.items())
        return "{" + ",".join(members) + "}"
    if type(value) is list:
        return "[" + ",".join(map(_write, value)) + "]"
    return "".join(_encode_chunks(value, 0))


def _sorted(value: Any) -> Any:
    if type(value) is dict:
        return {name: _sorted(value[name]) for name in sorted(value)}
    if type(value) is list:
        return [_sorted(item) for item in value]
    return value


def _check_depth(value: Any) -> None:
    level = _containers([value])
    for _ in range(MAX_DEPTH):
        level = _containers(
            item
            for parent in level
            for item in (parent.values() if type(parent) is dict else parent)
        )
    if level:
        raise ValueError(f"nested more than {MAX_DEPTH} deep")


def _containers(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if type(value) in (dict, list)]


def _refuse_lone_surrogates(value: Any) -> None:
    try:
        dumps(value).encode()
    except UnicodeEncodeError as exc:
        raise ValueError("half of a surrogate pair") from exc
