"""Chunks of a table: ranges of its pages, which need no key and no index to be read in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import psycopg
import pyarrow as pa

from headwater.event import TableId
from headwater.source.postgres.copying import copy_out
from headwater.source.postgres.copytext import split_copy
from headwater.source.postgres.names import quote, quote_table
from headwater.source.postgres.place import PendingTable
from headwater.source.postgres.render import Renderer, join_rows
from headwater.source.postgres.shapes import Captured

_ROWS_PER_PAGE_UNKNOWN = 50


@dataclass(frozen=True, slots=True)
class Unit:
    """One stored table: an ordinary table, or one partition of a partitioned one."""

    oid: int
    stored_as: TableId
    captured: Captured
    renderers: tuple[Renderer, ...]
    rows_total: int | None
    pages: int

    def pages_of(self, rows: int) -> int:
        """How many pages hold about so many rows."""
        per_page = _ROWS_PER_PAGE_UNKNOWN
        if self.rows_total and self.pages:
            per_page = max(1, self.rows_total // self.pages)
        return max(1, rows // per_page)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pages [first, end) of a unit; an `end` of None has no upper bound: a table grows."""

    unit: Unit
    first: int
    end: int | None
    condition: str | None = None

    def after(self, table: PendingTable, rows: int) -> PendingTable | None:
        """Where the chunk leaves its table; None if that was the end of it."""
        if self.end is None:
            return None
        return replace(table, next_page=self.end, rows_done=table.rows_done + rows)


def plan(unit: Unit, next_page: int, rows_per_chunk: int) -> Iterator[Chunk]:
    """The chunks of a unit from a page on."""
    step = unit.pages_of(rows_per_chunk)
    first = next_page
    while first + step < unit.pages:
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
        f"SELECT {', '.join(map(quote, names))} FROM ONLY {quote_table(unit.stored_as)}"
        f" WHERE {' AND '.join(conditions)}"
    )
    columns = split_copy(copy_out(connection, query), len(names))
    literals = [render(column) for render, column in zip(unit.renderers, columns, strict=True)]
    return join_rows(names, literals)
