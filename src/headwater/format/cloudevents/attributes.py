"""The attributes of an event: what a router needs to know without looking at the data.

`id` with `source` is unique and the same on every replay. Attributes may hold no control
characters, so names that have some are percent-encoded; the data has them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, are_messages
from headwater.event.message import PREFIX
from headwater.format.jsontext import dumps, loads
from headwater.format.rows import ids
from headwater.format.text import TEXT, join, known, operation, quoted, where
from headwater.format.times import instants, outside

TYPE_PREFIX = "io.headwater.change."

_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_TYPES = pa.array(["", *(dumps(TYPE_PREFIX + op.label) for op in Operation)], TEXT)


def attributes(batch: EventBatch) -> pa.Array:
    """The members of each record before its data, as text, the comma behind them included."""
    column = batch.column
    names = ("source_name", "table_schema", "table_name", "offset")
    source, schema, table, offset = (_clean(column(name)) for name in names)
    return join(
        '"specversion":"1.0","id":"', ids(batch),
        '","source":', _sources(batch),
        ',"type":', pc.take(_TYPES, column("op")),
        where(pc.invert(outside(column("ts_ms"))), ',"time":"', instants(column("ts_ms")), '"'),
        ',"datacontenttype":"application/json"', *_subject(batch, _subjects(schema, table)),
        ',"cdcop":', operation(column("op")),
        ',"cdcsource":', quoted(source),
        known("cdcschema", quoted(schema), schema),
        ',"cdctable":', quoted(table),
        ',"cdcoffset":', quoted(offset), ",",
    )  # fmt: skip


def _clean(texts: pa.Array) -> pa.Array:
    dirty = pc.match_substring_regex(texts, _CONTROL)
    if not pc.any(dirty, min_count=0).as_py():
        return texts
    return pa.array(
        [
            quote(text) if bad else text
            for text, bad in zip(texts.to_pylist(), dirty.to_pylist(), strict=True)
        ],
        pa.string(),
    )


def _subjects(schema: pa.Array, table: pa.Array) -> pa.Array:
    named = pc.binary_join_element_wise(schema, table, ".")
    return pc.if_else(schema.is_valid(), named, table)


def _subject(batch: EventBatch, tables: pa.Array) -> tuple[pa.Array | str, ...]:
    """The member: of a message its prefix, for it has no table, and a subject may not be empty."""
    messages = pc.indices_nonzero(are_messages(batch)).to_pylist()
    if not messages:
        return ',"subject":', quoted(tables)
    subjects = tables.to_pylist()
    for row in messages:
        subjects[row] = loads(batch.column("after")[row].as_py())[PREFIX] or None
    told = _clean(pa.array(subjects, pa.string()))
    return (known("subject", quoted(told), told),)


def _sources(batch: EventBatch) -> pa.Array:
    """`/source/schema/table`, each part percent-encoded; `-` where there is no schema."""
    columns = (batch.column(n).to_pylist() for n in ("source_name", "table_schema", "table_name"))
    known_paths: dict[tuple[str | None, ...], str] = {}
    paths = []
    for place in zip(*columns, strict=True):
        path = known_paths.get(place)
        if path is None:
            path = known_paths[place] = dumps(_path(place))
        paths.append(path)
    return pa.array(paths, TEXT)


def _path(parts: Iterable[str | None]) -> str:
    return "".join(f"/{'-' if part is None else quote(part, safe='')}" for part in parts)
