"""Row images as values, for the formats that say more of a row than its text: keys and changes."""

from __future__ import annotations

from collections.abc import Sequence
from json.encoder import encode_basestring
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.event import EventBatch, Operation, event_ids, uuid_strings
from headwater.format.columns import unwritable
from headwater.format.jsontext import dumps, loads_all
from headwater.format.text import TEXT

Row = dict[str, Any]

_NO_ID = UUID(int=0).bytes


def parsed(images: pa.Array, first: int = 0) -> list[Row | None]:
    """The rows of an image column, read in one go; numbers keep their text.

    `first` is the place of the first among the records, for the error that names one.
    """
    texts = images.to_pylist()
    try:
        values = iter(loads_all([text for text in texts if text is not None]))
    except ValueError as exc:
        raise _culprit(texts, first) from exc
    rows = [None if text is None else next(values) for text in texts]
    for index, row in enumerate(rows):
        if row is not None and type(row) is not dict:
            raise unwritable(first + index, "a row image is not a JSON object")
    return rows


def _culprit(texts: Sequence[str | None], first: int) -> DataError:
    for index, text in enumerate(texts):
        try:
            loads_all([] if text is None else [text])
        except ValueError as exc:
            return unwritable(first + index, f"a row image is not JSON: {exc}")
    return unwritable(first, "a row image is not JSON")


def key_images(batch: EventBatch) -> pa.Array:
    """The image that has each event's key: before of a delete, after of anything else."""
    deleted = pc.equal(batch.column("op"), int(Operation.DELETE))
    return pc.if_else(deleted, batch.column("before"), batch.column("after"))


def keys(names: Sequence[Sequence[str] | None], rows: Sequence[Row | None]) -> list[Row | None]:
    """The key of each row, names in key order. A key is all of its columns or none (INV-10)."""
    return [_key(key, row) for key, row in zip(names, rows, strict=True)]


def _key(names: Sequence[str] | None, row: Row | None) -> Row | None:
    if not names or row is None:
        return None
    if len(names) == 1:  # nearly always, and much quicker so
        name = names[0]
        return {name: row[name]} if name in row else None
    try:
        return {name: row[name] for name in names}
    except KeyError:
        return None


def event_keys(batch: EventBatch) -> list[Row | None]:
    """The key of each event."""
    return keys(batch.column("primary_key").to_pylist(), parsed(key_images(batch)))


def key_texts(values: Sequence[Row | None]) -> pa.Array:
    """Keys as JSON text; most have one column of a simple type."""
    heads: dict[str, str] = {}
    written = []
    for key in values:
        if key is None or len(key) != 1:
            written.append(None if key is None else dumps(key))
            continue
        ((name, value),) = key.items()
        head = heads.get(name) or heads.setdefault(name, f"{{{encode_basestring(name)}:")
        if type(value) is int:
            written.append(f"{head}{value}}}")
        elif type(value) is str:
            written.append(f"{head}{encode_basestring(value)}}}")
        else:
            written.append(dumps(key))
    return pa.array(written, TEXT)


def ids(batch: EventBatch) -> pa.Array:
    """UUID text of each event: its id, or the same derivation for an event that has none yet."""
    own = batch.column("event_id")
    missing = pc.equal(own, pa.scalar(_NO_ID, own.type))
    if not pc.any(missing, min_count=0).as_py():
        return uuid_strings(own)
    names = batch.column("source_name").to_pylist()
    offsets = batch.column("offset").to_pylist()
    derived: list[Any] = [None] * len(names)
    for name in dict.fromkeys(names):
        rows = [row for row, other in enumerate(names) if other == name]
        for row, number in zip(rows, event_ids(name, [offsets[r] for r in rows]), strict=True):
            derived[row] = number.as_py()
    return uuid_strings(pc.if_else(missing, pa.array(derived, own.type), own))
