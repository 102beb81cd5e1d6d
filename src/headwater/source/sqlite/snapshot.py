"""Snapshots in chunks, each read in one short transaction together with the changes before it.

A chunk shows its rows as they are after change w, and the changes up to w are in the log before
the chunk. So whatever happened to a row while the snapshot ran, replaying the log in order ends at
its latest state: no lock, no watermark, and a restart reads at most one chunk again.
"""

from __future__ import annotations

import sqlite3
from base64 import b64decode
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from headwater.event import TableSchema
from headwater.event.value import BINARY_TAG, binary_text
from headwater.source.sqlite.events import utf8
from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.image import image_sql
from headwater.source.sqlite.introspect import Table
from headwater.source.sqlite.place import PendingTable


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """Images of the rows of a chunk, and where the table stands after it (None: done)."""

    images: pa.Array
    next: PendingTable | None


def count_rows(connection: sqlite3.Connection, table: Table) -> int:
    """How many rows the table has now."""
    (count,) = connection.execute(f"SELECT count(*) FROM main.{quote(table.name)}").fetchone()
    return int(count)


def read_chunk(
    connection: sqlite3.Connection,
    table: Table,
    schema: TableSchema,
    pending: PendingTable,
    limit: int,
) -> ChunkRows:
    """The next rows of the table in the order of its key."""
    try:
        rows = _fetch(connection, table, schema, pending, limit, careful=False)
        images = utf8([row[0] for row in rows])
    except pa.ArrowInvalid:
        rows = _fetch(connection, table, schema, pending, limit, careful=True)
        images = utf8([row[0] for row in rows])
    if len(rows) < limit:
        return ChunkRows(images, None)
    moved = replace(
        pending,
        after=tuple(_storable(value) for value in rows[-1][1:]),
        rows_done=pending.rows_done + len(rows),
    )
    return ChunkRows(images, moved)


def _fetch(
    connection: sqlite3.Connection,
    table: Table,
    schema: TableSchema,
    pending: PendingTable,
    limit: int,
    *,
    careful: bool,
) -> list[tuple[Any, ...]]:
    typed = [(column.name, column.type) for column in schema.columns]
    references = [f"held.{quote(column.name)}" for column in schema.columns]
    image = image_sql(typed, references, careful=careful)
    order = [f"held.{quote(name)}" for name in _order(table)]
    after = "" if pending.after is None else f"WHERE ({', '.join(order)}) > ({_marks(order)})"
    values = () if pending.after is None else tuple(_restored(v) for v in pending.after)
    return connection.execute(
        f"SELECT CAST({image} AS BLOB), {', '.join(order)} FROM main.{quote(table.name)} AS held"
        f" {after} ORDER BY {', '.join(order)} LIMIT ?",
        (*values, limit),
    ).fetchall()


def _order(table: Table) -> tuple[str, ...]:
    """The rowid where there is one: never NULL, always unique, always an index."""
    return table.key if table.rowid_name is None else (table.rowid_name,)


def _marks(order: list[str]) -> str:
    return ", ".join("?" * len(order))


def _storable(value: Any) -> Any:
    """A key value as JSON can keep it."""
    if isinstance(value, bytes):
        return {BINARY_TAG: binary_text(value)}
    return value


def _restored(value: Any) -> Any:
    return b64decode(value[BINARY_TAG]) if isinstance(value, dict) else value
