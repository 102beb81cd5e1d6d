"""A target that holds its rows in memory, for comparing them with a source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from headwater.app.proof.encoding import Encoder, Row
from headwater.app.proof.ranges import Entry, MemorySide, Side
from headwater.app.proof.target import TargetTable
from headwater.event import TableSchema


def entry_of(encoder: Encoder, row: Row) -> Entry:
    return Entry(encoder.place(row).hex(), encoder.hash(row).hex(), encoder.name(row))


def held(schema: TableSchema, sequence: int, rows: Iterable[Row]) -> TargetTable:
    encoder = Encoder(schema)
    held_rows = [*rows]
    entries = [entry_of(encoder, row) for row in held_rows]

    def without(places: frozenset[str]) -> Side:
        return MemorySide(each for each in entries if each.place not in places)

    def texts(
        places: Collection[str], columns: Collection[str]
    ) -> Iterator[tuple[str, dict[str, str]]]:
        for row in held_rows:
            if (place := encoder.place(row).hex()) in places:
                told = encoder.texts(row).items()
                yield place, {name: text for name, text in told if name in columns}

    return TargetTable(sequence, without, texts)
