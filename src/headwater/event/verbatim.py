"""Values whose own text is what is kept: JSON, and columns without a type.

A reader of JSON makes floats of fractions, one member of two with one name, and forgets white
space. So the text of such a value is cut out of its image as it stands there, digit for digit.

JSON is kept as that text. A value of no declared type is too, save a text: it is kept without
quotes, unless it would then read as a number, a truth value, tagged bytes, or a text in quotes. So
no two values are kept as one, and what most people put there reads as they wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from headwater.errors import DataError
from headwater.event.types import Kind, LogicalType
from headwater.event.value import BINARY_TAG, decode_by, decode_row

Image = str | bytes
# From the text of a value to what is kept of it: a text, for arrays a list of such, None for null.
_Keep = Callable[[str], Any]
# From an image to the texts of some of its members; of an absent one it is that of null.
_Cut = Callable[[Image], Sequence[str]]

_NULL = "null"
_MISTAKABLE = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null"
    rf'|(?:"|\{{"{re.escape(BINARY_TAG)}":).*',
    re.DOTALL,
)
_SPACE = re.compile(r"[ \t\n\r]*")
# In the name of a member msgspec takes none of these.
_ODD = re.compile(r'["\\\x00-\x1f]')
# What it reads is thrown away: where it ends is asked for. A number may have any digits.
_PYTHON = json.JSONDecoder(parse_int=str, parse_float=str)


def is_verbatim(logical: LogicalType) -> bool:
    """Whether values of the type, or items of its arrays, are kept as their own text."""
    if logical.kind is Kind.ARRAY and logical.element is not None:
        return is_verbatim(logical.element)
    return logical.kind in (Kind.JSON, Kind.DYNAMIC)


class Verbatim:
    """Reads those of some columns from images that are kept as their own text.

    If it is `forgiving`, what is not of its column's type, or cannot be read, is null.
    """

    def __init__(self, types: Mapping[str, LogicalType], *, forgiving: bool = False) -> None:
        self.types = {name: each for name, each in types.items() if is_verbatim(each)}
        self._forgiving = forgiving
        self._cut = _cutter(tuple(self.types))
        self._keep = tuple(_keeper(each, forgiving=forgiving) for each in self.types.values())

    def columns(self, images: Iterable[Image | None]) -> dict[str, pa.Array]:
        """What is kept of each, as a column; what an image does not have is null."""
        found: list[list[Any]] = [[] for _ in self.types]
        for image in images:
            for column, keep, text in zip(found, self._keep, self._texts(image), strict=True):
                column.append(keep(text))
        return {
            name: pa.array(column, arrow_type(logical))
            for (name, logical), column in zip(self.types.items(), found, strict=True)
        }

    def _texts(self, image: Image | None) -> Sequence[str]:
        if image is not None:
            try:
                return self._cut(image)
            except DataError:
                if not self._forgiving:
                    raise
        return [_NULL] * len(self.types)

    def row(self, image: Image) -> dict[str, Any]:
        """The image as a dict, with what is kept of those columns."""
        row = _decoded(image)
        if self.types:
            texts = zip(self.types, self._keep, self._cut(image), strict=True)
            row |= {name: keep(text) for name, keep, text in texts if name in row}
        return row


def value_of(text: str, logical: LogicalType) -> Any:
    """The value that is kept so."""
    if logical.kind is Kind.DYNAMIC and not _MISTAKABLE.fullmatch(text):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise DataError("value-mistyped", f"a value of type {logical} cannot be read") from exc


def arrow_type(logical: LogicalType) -> pa.DataType:
    """The column that what is kept stands in."""
    if logical.kind is Kind.ARRAY and logical.element is not None:
        return pa.list_(arrow_type(logical.element))
    return pa.string()


def _keeper(logical: LogicalType, *, forgiving: bool) -> _Keep:
    match logical.kind:
        case Kind.ARRAY if logical.element is not None:
            return _listed(_keeper(logical.element, forgiving=forgiving), forgiving=forgiving)
        case Kind.DYNAMIC:
            return _dynamic
        case _:
            return _json


def _json(text: str) -> str | None:
    return None if text == _NULL else text


def _dynamic(text: str) -> str | None:
    if text[0] != '"':
        return _json(text)
    value = str(json.loads(text))
    return json.dumps(value, ensure_ascii=False) if _MISTAKABLE.fullmatch(value) else value


def _listed(keep: _Keep, *, forgiving: bool) -> _Keep:
    def items(text: str) -> list[Any] | None:
        if text[0] != "[":
            if text == _NULL or forgiving:
                return None
            raise DataError("value-mistyped", "a value of a column of lists is no list")
        try:
            return [keep(item) for _, item in _scanned(text)]
        except RecursionError as exc:
            if forgiving:
                return None
            raise DataError("value-mistyped", "a value is nested too deep") from exc

    return items


def _decoded(image: Image) -> dict[str, Any]:
    """The image as a dict; an integer of more digits than Python reads is their text."""
    try:
        return decode_row(image)
    except DataError:
        return decode_by(image, lambda text: json.loads(text, parse_int=_integer))


def _integer(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:
        return digits


def _cutter(names: tuple[str, ...]) -> _Cut:
    """A quick reader, and Python's own for what it refuses: half a surrogate, odd names."""

    def slowly(image: Image) -> Sequence[str]:
        _decoded(image)
        members = dict(_scanned(image if isinstance(image, str) else image.decode()))
        return [members.get(name, _NULL) for name in names]

    if not names or any(map(_ODD.search, names)):
        return slowly
    fields = [f"c{place}" for place in range(len(names))]
    kind = msgspec.defstruct(
        "Members",
        [(each, msgspec.Raw, msgspec.Raw(_NULL.encode())) for each in fields],
        rename=dict(zip(fields, names, strict=True)),
        gc=False,
    )
    decoder = msgspec.json.Decoder(kind)

    def quickly(image: Image) -> Sequence[str]:
        try:
            found = msgspec.structs.astuple(decoder.decode(image))
        except (msgspec.DecodeError, RecursionError):
            return slowly(image)
        return [bytes(raw).decode() for raw in found]

    return quickly


def _scanned(text: str) -> Iterator[tuple[str, str]]:
    """Each member of an object, or item of a list, in a text that is JSON: name and own text."""
    at = _begin(text, 0)
    named = text[at] == "{"
    at = _begin(text, at + 1)
    while text[at] not in "}]":
        name = ""
        if named:
            name, at = _PYTHON.raw_decode(text, at)
            at = _begin(text, _begin(text, at) + 1)
        _, end = _PYTHON.raw_decode(text, at)
        yield name, text[at:end]
        at = _begin(text, end)
        if text[at] == ",":
            at = _begin(text, at + 1)


def _begin(text: str, at: int) -> int:
    """Where the next thing begins."""
    found = _SPACE.match(text, at)
    return at if found is None else found.end()
