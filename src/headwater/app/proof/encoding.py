"""A row as the text that it is hashed as. `spark/proof/encoding.py` has the same text in SQL.

The columns stand in the order of their names, each as `{length}:{name}{length}:{value}`, lengths in
characters: nothing has to be escaped, and no two rows have one text. NULL columns are left out: a
column that was added and is NULL in every row is no difference between two tables. A value is its
text by the value rule, except where engines write one value in several ways: floats and bytes are
in hexadecimal digits, unless a value of their columns is neither. What a table keeps as text is
that text: of JSON and of columns without a type, what `headwater.event.verbatim` cuts out of the
image.

A hash is the first 128 bits of SHA-256. A key's place is the hash of the row's key columns alone.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from headwater.errors import DataError
from headwater.event import Column, Kind, LogicalType, TableSchema, to_python
from headwater.event.verbatim import Image, Verbatim, value_of

Row = Mapping[str, Any]
Text = Callable[[Any], str]
HASH_BYTES = 16

# Bytes in a column of texts are an object of one member there.
_TAGGED = json.JSONEncoder(separators=(",", ":"))
_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical(values: Row) -> str:
    """Sorted, compact JSON: how keys are named."""
    return _CANONICAL.encode(values)


class Encoder:
    """Rows of one table as hashes."""

    def __init__(self, schema: TableSchema) -> None:
        self.key = schema.primary_key
        by_name = {column.name: column for column in schema.columns}
        self._verbatim = Verbatim({column.name: column.type for column in schema.columns})
        self._columns = _prepared(schema.columns)
        self._told = [(name, label, str) for name, label, _ in self._columns]
        self._key_columns = _prepared([by_name[name] for name in self.key if name in by_name])

    def row(self, image: Image) -> dict[str, Any]:
        """A row image as what the other methods take."""
        return self._verbatim.row(image)

    def hash(self, row: Row) -> bytes:
        """The hash of a whole row."""
        return _hash(row, self._columns)

    def texts(self, row: Row) -> dict[str, str]:
        """The text of each column that is not NULL."""
        return {
            name: text(row[name]) for name, _, text in self._columns if row.get(name) is not None
        }

    def hash_of(self, texts: Mapping[str, str]) -> bytes:
        """The hash of a whole row, of which these are the texts."""
        return _hash(texts, self._told)

    def place(self, row: Row) -> bytes:
        """Where a row stands among the hashes: by its key; without one, by all of it."""
        return _hash(row, self._key_columns or self._columns)

    def name(self, row: Row) -> str:
        """The key as JSON; empty for a row that has none."""
        return canonical({name: self._value(row, name) for name in self.key}) if self.key else ""

    def _value(self, row: Row, name: str) -> Any:
        value = row.get(name)
        if isinstance(value, str) and name in self._verbatim.types:
            return value_of(value, self._verbatim.types[name])
        return value


_Prepared = Sequence[tuple[str, str, Text]]


def _prepared(columns: Sequence[Column]) -> _Prepared:
    ordered = sorted(columns, key=lambda column: column.name)
    return [(each.name, _counted(each.name), text_of(each.type)) for each in ordered]


def _hash(row: Row, columns: _Prepared) -> bytes:
    parts = []
    for name, label, text in columns:
        value = row.get(name)
        if value is not None:
            said = text(value)
            parts.append(f"{label}{len(said)}:{said}")
    # A lone surrogate, which JSON allows, has no UTF-8; its row still has a hash.
    return sha256("".join(parts).encode("utf-8", "surrogatepass")).digest()[:HASH_BYTES]


def text_of(logical: LogicalType) -> Text:
    """How the values of a type are written."""
    match logical.kind:
        case Kind.FLOAT64:
            return _float
        case Kind.FLOAT32:
            return _single
        case Kind.BINARY:
            return lambda value: _binary(value, logical)
        case Kind.ARRAY if logical.element is not None:
            return _array(text_of(logical.element))
        case _:
            return _plain


def _plain(value: Any) -> str:
    if type(value) is str:
        return value
    return str(value) if type(value) is int else _TAGGED.encode(value)


def _binary(value: Any, logical: LogicalType) -> str:
    try:
        return bytes(to_python(value, logical)).hex().upper()
    except DataError:
        return _plain(value)


def _array(element: Text) -> Text:
    def text(value: Any) -> str:
        if not isinstance(value, list):  # the server's own text, for what is no plain array
            return _plain(value)
        return ",".join("-" if item is None else _counted(element(item)) for item in value)

    return text


def _counted(text: str) -> str:
    return f"{len(text)}:{text}"


def _float(value: Any) -> str:
    """As Java's `%a` writes it: every float has one such text, and engines agree on it."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return _plain(value)
    said = number.hex()
    if "x" not in said:
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[said]
    mantissa, _, exponent = said.partition("p")
    whole, _, fraction = mantissa.partition(".")
    return f"{whole}.{fraction.rstrip('0') or '0'}p{int(exponent)}"


def _single(value: Any) -> str:
    try:
        (number,) = struct.unpack("f", struct.pack("f", float(value)))
    except (TypeError, ValueError, OverflowError):
        return _float(value)
    return _float(number)
