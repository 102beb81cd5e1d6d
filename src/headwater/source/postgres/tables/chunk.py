"""Chunks of a table: ranges of its pages, which need no key and no index to be read in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import psycopg
import pyarrow as pa

from headwater.event import TableId
from headwater.source.postgres.decode.copytext import split_copy
from headwater.source.postgres.decode.render import Renderer, join_rows
from headwater.source.postgres.names import quote, quote_table
from headwater.source.postgres.place import PendingTable
from headwater.source.postgres.server.catalog import TableFacts
from headwater.source.postgres.shapes import Captured, Shapes, relation_of
from headwater.source.postgres.tables.copying import copy_out

_ROWS_PER_PAGE_UNKNOWN = 50
# As stored: large values lie outside of a table's pages, and compressed.
_CHUNK_BYTES = 32 * 1024 * 1024
# The catalog is read as the transaction sees it; pg_relation_filenode tells what is there now.
_STORED = """
SELECT c.oid::bigint, n.nspname::text, c.relname::text, c.reltuples::bigint,
       pg_relation_size(c.oid) / current_setting('block_size')::int, pg_table_size(c.oid),
       pg_relation_filenode(c.oid)::bigint, c.relfilenode::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY(%s) ORDER BY c.oid
"""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where rows lie: an ordinary table, or one partition of a partitioned one.

    `filenode` names its file; another one means that it was rebuilt. `rebuilt`: since the
    transaction's snapshot, which therefore cannot see its rows.
    """

    oid: int
    table: TableId
    rows_total: int | None
    pages: int
    size_bytes: int
    filenode: int
    rebuilt: bool


def stored_tables(connection: psycopg.Connection, oids: Sequence[int]) -> tuple[Stored, ...]:
    """The stored tables among these that exist."""
    return tuple(
        Stored(
            oid, TableId(schema, name), None if rows < 0 else rows, pages, size, now, now != then
        )
        for oid, schema, name, rows, pages, size, now, then in connection.execute(
            _STORED, (list(oids),)
        )
        if now is not None
    )


@dataclass(frozen=True, slots=True)
class Unit:
    """A stored table and how its rows are read."""

    stored: Stored
    captured: Captured
    renderers: tuple[Renderer, ...]

    @classmethod
    def of(cls, stored: Stored, facts: TableFacts, shapes: Shapes) -> Unit:
        """A stored table whose rows belong to the captured one of these facts."""
        captured = shapes.of_table(facts)
        renderers = shapes.shape(relation_of(facts)).renderers
        return cls(stored, captured, tuple(each for each in renderers if each is not None))

    @property
    def oid(self) -> int:
        """The stored table's number."""
        return self.stored.oid

    def pages_of(self, rows: int) -> int:
        """How many pages hold about so many rows, and no more than fits into memory."""
        per_page = _ROWS_PER_PAGE_UNKNOWN
        stored = self.stored
        if stored.rows_total and stored.pages:
            per_page = max(1, stored.rows_total // stored.pages)
        fitting = _CHUNK_BYTES * stored.pages // max(1, stored.size_bytes)
        return max(1, min(rows // per_page, fitting or 1))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pages [first, end) of a unit; an `end` of None has no upper bound: a table grows.

    With `keys` it is the rows of the whole table that have one of them, in whatever part they lie.
    """

    unit: Unit
    first: int
    end: int | None
    condition: str | None = None
    keys: tuple[str, ...] | None = None

    def after(self, table: PendingTable, rows: int) -> PendingTable | None:
        """Where the chunk leaves its table; None if that was the end of it."""
        if self.end is None:
            return None
        return replace(table, next_page=self.end, rows_done=table.rows_done + rows)


def plan(unit: Unit, next_page: int, rows_per_chunk: int) -> Iterator[Chunk]:
    """The chunks of a unit from a page on."""
    step = unit.pages_of(rows_per_chunk)
    first = next_page
    while first + step < unit.stored.pages:
        yield Chunk(unit, first, first + step)
        first += step
    yield Chunk(unit, first, None)


def read_images(connection: psycopg.Connection, chunk: Chunk) -> pa.Array:
    """The row images of a chunk as the connection's transaction sees them."""
    unit = chunk.unit
    names = [column.name for column in unit.captured.schema.columns]
    conditions = [f"ctid >= '({chunk.first},0)'"]
    if chunk.end is not None:
        conditions.append(f"ctid < '({chunk.end},0)'")
    if chunk.condition:
        conditions.append(f"({chunk.condition})")
    query = (
        f"SELECT {', '.join(map(quote, names))} FROM {_from(chunk)}"
        f" WHERE {' AND '.join(conditions)}"
    )
    columns = split_copy(copy_out(connection, query), len(names))
    literals = [render(column) for render, column in zip(unit.renderers, columns, strict=True)]
    return join_rows(names, literals)


def _from(chunk: Chunk) -> str:
    """One stored table; for keys, the table with all of its partitions."""
    whole, stored = chunk.unit.captured.schema.table, chunk.unit.stored.table
    if chunk.keys is None or whole == stored:
        return f"ONLY {quote_table(stored)}"
    return quote_table(whole)
