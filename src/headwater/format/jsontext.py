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


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


# Half a surrogate pair stands in no text of ours, so it can mark where a quoted number was put.
_MARK = "\udfff"


def _marked(value: Any) -> str:
    return f"{_MARK}{value.text}{_MARK}"


def _encoder(*, sort_keys: bool) -> Any:
    # JSONEncoder.encode makes one of these for every value, which costs more than a small row.
    return json.encoder.c_make_encoder(  # type: ignore[attr-defined]
        markers=None,
        default=_marked,
        encoder=encode_basestring,
        indent=None,
        key_separator=":",
        item_separator=",",
        sort_keys=sort_keys,
        skipkeys=False,
        allow_nan=False,
    )


_DECODER = json.JSONDecoder(parse_float=Real, parse_constant=_refuse_constant)
_plain, _in_order = _encoder(sort_keys=False), _encoder(sort_keys=True)


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
    check_size(record)
    value = loads(str(record, "utf-8"))
    if type(value) is not dict:
        raise ValueError("not a JSON object")
    return value


def check_size(record: bytes) -> None:
    """ValueError for a record that no format reads: it would be many times larger as values."""
    if len(record) > MAX_RECORD_BYTES:
        raise ValueError(f"{len(record)} bytes are more than {MAX_RECORD_BYTES}")


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
    return _unmarked("".join(_plain(value, 0)))


def canonical(value: Any) -> str:
    """Compact text with the names of every object in order: equal where the values are."""
    return _unmarked("".join(_in_order(value, 0)))


def _unmarked(text: str) -> str:
    if _MARK not in text:
        return text
    return text.replace(f'"{_MARK}', "").replace(f'{_MARK}"', "")


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
