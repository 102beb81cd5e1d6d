"""Values as text: ids, tenants and the like, one JSON string for each, over whole columns."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.format.jsontext import Real, canonical, loads
from headwater.format.text import TEXT, as_string, join

_UUID_BYTES = 38  # with its quotes


def scalar_text(value: Any) -> str:
    """A value as text; UUIDs in lower case, so that one id has one text."""
    match value:
        case str():
            return value.lower() if _is_uuid(value) else value
        case bool() | None:
            return canonical(value)
        case int():
            return repr(value)
        case Real():
            return value.text
        case _:
            return canonical(value)


def as_texts(values: pa.Array) -> pa.Array:
    """JSON values, as they are written, as JSON strings of `scalar_text`."""
    strings = pc.starts_with(values, '"')
    texts = pc.if_else(strings, values, join('"', values, '"'))
    capitals = pc.and_(
        pc.and_(strings, pc.equal(pc.binary_length(values), _UUID_BYTES)),
        pc.not_equal(values, pc.ascii_lower(values)),
    )
    return _one_by_one(texts, values, pc.or_(capitals, _nested(values)), _text_of)


def as_lists(columns: list[pa.Array]) -> pa.Array:
    """The values of several columns as JSON strings, each of which is a JSON list."""
    parts: list[Any] = []
    for column in columns:
        parts += [",", column]
    lists = join("[", *parts[1:], "]")
    odd = pc.match_substring(lists, "\\")
    for column in columns:
        odd = pc.or_(odd, _nested(column))
    return _one_by_one(as_string(lists), lists, odd, _list_of)


def _text_of(text: str) -> str:
    return encode_basestring(scalar_text(loads(text)))


def _list_of(text: str) -> str:
    return encode_basestring(canonical(loads(text)))


def _nested(values: pa.Array) -> pa.Array:
    return pc.or_(pc.starts_with(values, "{"), pc.starts_with(values, "["))


def _one_by_one(texts: pa.Array, values: pa.Array, odd: pa.Array, convert: Any) -> pa.Array:
    """The texts, and where a value is odd what `convert` makes of it."""
    places = np.flatnonzero(odd.to_numpy(zero_copy_only=False))
    if not len(places):
        return texts
    converted = [convert(text) for text in values.take(pa.array(places)).to_pylist()]
    return pc.replace_with_mask(texts, odd, pa.array(converted, TEXT))


def _is_uuid(text: str) -> bool:
    if len(text) != 36 or text.islower():
        return False
    try:
        return str(UUID(text)) == text.lower()
    except ValueError:
        return False
