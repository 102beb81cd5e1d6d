"""Row images inside a record: JSON objects that are checked, but carried as the text they are.

A row may hold integers of any size and floats whose text matters to the byte. Parsing is needed to
know that the text is a JSON object; writing it again would only risk changing it.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from headwater.event import EventBatch
from headwater.format.columns import unwritable

# The whitespace that would break a line. Strict JSON escapes these inside strings, so a raw one
# stands between tokens and can go without changing a value.
_LINE_BREAKS = str.maketrans("", "", "\r\n")


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse(text: str) -> Any:
    """The value of strict JSON text: no NaN, no trailing characters. ValueError if it is not."""
    bare = text.strip(" \t\r\n")
    try:
        value, end = _DECODER.raw_decode(bare)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    if end != len(bare):
        raise ValueError(f"characters follow the JSON text at {end}")
    return value


def scan_image(text: str, start: int) -> tuple[str | None, int]:
    """The image that begins at `start`, null as None, and where it ends. ValueError if none is."""
    try:
        row, end = _DECODER.raw_decode(text, start)
    except RecursionError as exc:
        raise ValueError("a row image is nested too deeply") from exc
    return (None if row is None else _checked(text[start:end], row)), end


def read_image(data: bytes | None) -> str | None:
    """The image in a binary carrier's field. ValueError if it is not a JSON object in UTF-8."""
    if data is None:
        return None
    text = data.decode()
    return _checked(text, parse(text))


def write_image(row: Any) -> str | None:
    """A parsed image as compact text; for records whose own text cannot be cut out."""
    if row is None:
        return None
    return _checked(_dump(row, sort_keys=False), row)


def images_of(batch: EventBatch, *, sort_row_keys: bool) -> tuple[pa.Array, pa.Array]:
    """The columns `before` and `after`, their names in order if that is asked for."""
    before, after = batch.column("before"), batch.column("after")
    return (_sorted(before), _sorted(after)) if sort_row_keys else (before, after)


def _sorted(column: pa.Array) -> pa.Array:
    """Images with their names in order, nested ones too, as producers with sorted maps write."""
    images: list[str | None] = []
    for index, text in enumerate(column.to_pylist()):
        try:
            images.append(None if text is None else _dump(parse(text), sort_keys=True))
        except ValueError as exc:
            raise unwritable(index, f"a row image is not JSON: {exc}") from exc
    return pa.array(images, pa.string())


def _dump(row: Any, *, sort_keys: bool) -> str:
    return json.dumps(
        row, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=sort_keys
    )


def _checked(text: str, row: Any) -> str:
    if not isinstance(row, dict):
        raise ValueError("a row image is not a JSON object")  # noqa: TRY004
    if "\\u" in text:
        _refuse_lone_surrogates(row)
    if "\n" in text or "\r" in text:
        return text.translate(_LINE_BREAKS)
    return text


def _refuse_lone_surrogates(row: dict[str, Any]) -> None:
    """Half of a UTF-16 pair is no character: no database column and no UTF-8 file can hold it."""
    try:
        _dump(row, sort_keys=False).encode()
    except UnicodeEncodeError as exc:
        raise ValueError("a row image holds half of a surrogate pair") from exc
