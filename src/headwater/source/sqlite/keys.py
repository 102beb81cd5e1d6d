"""Rows that are read again by their keys, and keys of which there is no row.

The look that reads them has read every change before it, as for any chunk (see snapshot). So a key
without a row has none at this place of the log.
"""

from __future__ import annotations

import json
import sqlite3
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.contract import Command, Owed, OwedState, Verb
from headwater.errors import ConfigError
from headwater.event import EventBatch, Kind, Operation, TableSchema, event_ids
from headwater.event.value import BINARY_TAG, TEXT_TAG
from headwater.source.sqlite.catalog import Catalog
from headwater.source.sqlite.events import SOURCE_NAME, Chunk, utf8
from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.image import image_sql
from headwater.source.sqlite.place import PendingTable

_WORDS = ("Infinity", "-Infinity")  # JSON has no number for them
_AS_TEXT = "CAST(? AS TEXT)"  # a text that is not UTF-8 cannot be bound


@dataclass(frozen=True, slots=True)
class KeyedRows:
    """Images of the rows that there are, and the keys without one."""

    images: pa.Array
    absent: tuple[str, ...]


def asked_for(command: Command, catalog: Catalog) -> PendingTable:
    """What a command asks for; anything but keys of a captured table is refused."""
    wish, name = command.wish, command.wish.table or ""
    if wish.verb is not Verb.START or wish.keys is None:
        raise ConfigError("backfill-unsupported", "SQLite reads only chosen keys again")
    schemas = {each.capture_no: catalog.schemas[each.capture_no] for each in catalog.active()}
    found = [number for number, schema in schemas.items() if schema.table.matches((name,))]
    if len(found) != 1:
        raise ConfigError("backfill-table", f"{name!r} is not a captured table")
    schema = schemas[found[0]]
    if not schema.primary_key:
        raise ConfigError("backfill-no-key", f"{name} has no key")
    for text in wish.keys:
        _sought(text, schema)
    return PendingTable(found[0], keys=wish.keys, command=command.id)


def still_owed(pending: Sequence[PendingTable], catalog: Catalog) -> tuple[Owed, ...]:
    """The keys that were asked for and are not read yet."""
    return tuple(
        Owed(
            str(catalog.schemas[each.capture_no].table),
            OwedState.WAITING,
            rows_total=len(each.keys),
            command=each.command,
        )
        for each in pending
        if each.keys is not None and each.capture_no in catalog.schemas
    )


def read_keys(
    connection: sqlite3.Connection, schema: TableSchema, keys: Sequence[str]
) -> KeyedRows:
    """The rows of these keys, each looked up by itself and exactly, whatever the collation."""
    typed = [(column.name, column.type) for column in schema.columns]
    references = [f"held.{quote(column.name)}" for column in schema.columns]
    image = image_sql(typed, references, careful=True)
    rows = f"SELECT CAST({image} AS BLOB) FROM main.{quote(schema.table.name)} AS held"
    images, absent = [], []
    for text in keys:
        sought = _sought(text, schema)
        matches = " AND ".join(each.condition for each in sought)
        values = [value for each in sought for value in each.values]
        found = connection.execute(f"{rows} WHERE {matches}", values).fetchall()
        images += [row[0] for row in found]
        if not found:
            absent.append(text)
    return KeyedRows(utf8(images), tuple(absent))


@dataclass(frozen=True, slots=True)
class _Sought:
    """A condition that is true of whatever a column's image has as this value, and of it alone.

    Some images are of two values that SQLite tells apart: both are looked for, for a key that is
    not found is told as one without a row.
    """

    condition: str
    values: Sequence[Any]


def _sought(text: str, schema: TableSchema) -> list[_Sought]:
    try:
        key = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ConfigError("backfill-key", "a key is a JSON object", where=text[:80]) from exc
    if not isinstance(key, dict) or set(key) != set(schema.primary_key):
        raise ConfigError("backfill-key", f"not a key of {schema.table}", where=text[:80])
    kinds = {column.name: column.type.kind for column in schema.columns}
    return [_one(name, key[name], kinds[name]) for name in schema.primary_key]


def _one(name: str, value: Any, kind: Kind) -> _Sought:
    held = f"held.{quote(name)}"
    if value is None:
        return _Sought(f"{held} IS NULL", ())
    try:
        items = _stored(value, kind)
    except (ValueError, TypeError) as exc:
        told = ascii(value)[:80]
        raise ConfigError("backfill-key", "a key is made of plain values", where=told) from exc
    marks = ", ".join(mark for mark, _ in items)
    return _Sought(f"{held} COLLATE BINARY IN ({marks})", [each for _, each in items])


def _stored(value: Any, kind: Kind) -> list[tuple[str, Any]]:
    """A JSON value as SQLite may keep it: SQL, and what is bound to it."""
    match value:
        case {**tagged} if tagged.keys() == {BINARY_TAG}:
            return _bytes(b64decode(value[BINARY_TAG], validate=True))
        case {**tagged} if tagged.keys() == {TEXT_TAG}:
            return _text(value[TEXT_TAG])
        case str() if kind is Kind.BINARY:
            return _blob(value)
        case str() if value in _WORDS and kind is not Kind.STRING:
            return [("?", value), ("?", float(value))]
        case str():
            return _text(value)
        case bool() | dict() | list():
            raise TypeError(type(value))
        case int() if not -(1 << 63) <= value < 1 << 63:
            raise ValueError(value)
        case _:
            return [("?", value)]


def _blob(value: str) -> list[tuple[str, Any]]:
    """Base64, or a number for which JSON has a word only; one word is base64, too."""
    if value == "-Infinity":
        return [("?", float(value))]
    number = [("?", float(value))] if value in _WORDS else []
    return [*number, ("?", b64decode(value, validate=True))]


def _bytes(value: bytes) -> list[tuple[str, Any]]:
    """Bytes where texts are usual; a text that is not UTF-8 has the same image."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return [("?", value), (_AS_TEXT, value)]
    return [("?", value)]


def _text(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value.keys() == {BINARY_TAG}:
        return [(_AS_TEXT, b64decode(value[BINARY_TAG], validate=True))]
    value.encode()
    return [("?", value)]


def reread_batch(
    uid: str, rows: KeyedRows, schema: TableSchema, prefix: str, chunk: Chunk
) -> EventBatch:
    """A `delete` for each key without a row, then a `read` for each row; all say: found so."""
    gone, there = len(rows.absent), len(rows.images)
    count = gone + there
    offsets = [f"{prefix}:{number}" for number in range(count)]
    block = {
        "snapshot_id": chunk.snapshot_id,
        "chunk_index": chunk.chunk_index,
        "is_last_chunk": chunk.is_last,
    }
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, offsets),
            "op": [int(Operation.DELETE)] * gone + [int(Operation.READ)] * there,
            "source_name": SOURCE_NAME,
            "offset": offsets,
            "source_ts_ms": chunk.ts_ms,
            "ts_ms": chunk.ts_ms,
            "table_name": schema.table.name,
            "primary_key": pa.array([list(schema.primary_key)] * count, pa.list_(pa.string())),
            "before": pa.array([*rows.absent, *[None] * there], pa.string()),
            "before_is_key_only": pa.array([True] * gone + [False] * there),
            "after": pa.array([*[None] * gone, *rows.images.to_pylist()], pa.string()),
            "snapshot": block,
            "schema_id": schema.schema_id,
        }
    )
