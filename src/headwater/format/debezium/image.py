"""Row images with Debezium's placeholder for a value that the database did not send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.format.columns import unwritable
from headwater.format.jsontext import dumps, loads

PLACEHOLDER = "__debezium_unavailable_value"


def with_placeholders(images: pa.Array, unavailable: pa.Array) -> pa.Array:
    """The images, with the placeholder in each column that is listed as unavailable."""
    listed = pc.and_(images.is_valid(), unavailable.is_valid())
    if not pc.any(listed, min_count=0).as_py():
        return images
    texts = images.to_pylist()
    for row in pc.indices_nonzero(listed).to_pylist():
        texts[row] = _filled(row, texts[row], unavailable[row].as_py())
    return pa.array(texts, images.type)


def _filled(index: int, text: str, names: Sequence[str]) -> str:
    try:
        row = loads(text)
    except ValueError as exc:
        raise unwritable(index, f"a row image is not JSON: {exc}") from exc
    if any(row.get(name) == PLACEHOLDER for name in names):
        raise unwritable(index, "a column holds the placeholder's text and is unavailable at once")
    return dumps(row | {name: PLACEHOLDER for name in names if name not in row})


def holds_placeholder(images: pa.Array) -> pa.Array:
    """Where a row may hold the very text: then the lists must be told, not guessed."""
    return pc.match_substring(images, PLACEHOLDER).fill_null(fill_value=False)


def without_placeholders(row: Any, listed: Sequence[str] | None) -> tuple[str | None, list[str]]:
    """The image without placeholders, and the columns that had one; only `listed` if given."""
    if row is None:
        return None, list(listed or ())
    if type(row) is not dict:
        raise ValueError("a row is not an object")
    names = [name for name, value in row.items() if value == PLACEHOLDER]
    if listed is not None:
        names = [name for name in names if name in listed]
    if not names:
        return dumps(row), list(listed or ())
    return dumps({n: v for n, v in row.items() if n not in names}), list(listed or names)
