"""A target that holds its rows in memory, for comparing them with a source."""

from __future__ import annotations

from collections.abc import Iterable

from headwater.app.proof.encoding import Encoder, Row
from headwater.app.proof.ranges import Entry, MemorySide, Side
from headwater.app.proof.verifier import TargetTable
from headwater.event import TableSchema


def entry_of(encoder: Encoder, row: Row) -> Entry:
    return Entry(encoder.place(row).hex(), encoder.hash(row).hex(), encoder.name(row))


def held(schema: TableSchema, sequence: int, rows: Iterable[Row]) -> TargetTable:
    encoder = Encoder(schema)
    entries = [entry_of(encoder, row) for row in rows]

    def without(places: frozenset[str]) -> Side:
        return MemorySide(each for each in entries if each.place not in places)

    return TargetTable(sequence, without)
