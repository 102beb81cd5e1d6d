"""Study: the families of a transaction of any size, which the log gives in passes.

The first pass asks only which tables occur; where none refers to another, it is the last. The
second takes the keys of rows that may be related, and pairs them. The third looks at the rows that
turned out to be, and what they changed is folded root by root. Between the passes there is no more
in memory than the workspace allows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import SchemaHistory
from headwater.event import EventBatch, Operation, TableId
from headwater.format.cdcformat.derive import tables_of
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.format.cdcformat.family.entries import (
    ENTRIES,
    Kin,
    choose,
    entries_of,
    fold,
    stand_in,
)
from headwater.format.cdcformat.family.keys import Rows
from headwater.format.cdcformat.family.linking import Linked, link
from headwater.format.cdcformat.family.listing import members
from headwater.format.cdcformat.family.relations import Relations
from headwater.format.cdcformat.family.roots import Families, find_families, spans
from headwater.format.cdcformat.family.scratch import Bins, Scratch, Workspace
from headwater.format.cdcformat.family.telling import Telling
from headwater.format.cdcformat.images import read_images
from headwater.format.cdcformat.members import Places

_ROWS_AT_ONCE = 4096  # their values stay in the processor's cache
_ENTRY_BYTES = 512  # of one entry with all that is made of it, more or less


@dataclass(frozen=True, slots=True)
class _Extent:
    """Which tables and shapes of tables occur, and the first and last sequence number."""

    tables: tuple[TableId, ...]
    shapes: tuple[int, ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One transaction: `pieces` gives its events, in order, as often as it is asked."""

    pieces: Callable[[], Iterator[EventBatch]]
    history: SchemaHistory
    entities: EntityMap
    workspace: Workspace
    atomic: bool
    limit: int | None

    def work(self) -> Telling | None:
        """What is to be told; None for nothing."""
        if not any(schema.foreign_keys for _, schema in self.history.schemas()):
            return None
        extent = self._extent()
        if extent is None:
            return None
        relations = Relations.among(extent.tables, extent.shapes, self.history)
        if not relations:
            return None
        scratch = Scratch(self.workspace)
        try:
            telling = self._told(extent, relations, scratch)
        except BaseException:
            scratch.close()
            raise
        if telling is None:
            scratch.close()
        return telling

    def _extent(self) -> _Extent | None:
        tables: set[TableId] = set()
        shapes: set[int] = set()
        first = last = 0
        for piece in self.pieces():
            events = _mutations(piece)
            if len(events):
                first, last = first or events.first_sequence, events.last_sequence
                codes, known = tables_of(events)
                tables |= {known[code] for code in np.unique(codes)}
                shapes |= set(events.column("schema_id").unique().to_pylist())
        return _Extent(tuple(tables), tuple(shapes), first, last) if tables else None

    def _told(self, extent: _Extent, relations: Relations, scratch: Scratch) -> Telling | None:
        count = extent.last - extent.first + 1
        linked = link(self._relatable(extent, relations), relations, scratch, count)
        if linked is None:
            return None
        found = find_families(linked.op, linked.pairs, scratch.array)
        entities = tuple(map(self.entities.entity, extent.tables))
        entries = self._entries(extent, linked, found, entities, scratch)
        folded = scratch.array(len(linked.place), np.bool_) if self.atomic else None
        telling = Telling(scratch, extent.first, linked, folded)
        for number in entries.numbers():
            chosen = choose(entries.gather(number, self._fold), self.limit, entities)
            if not len(chosen.listed):
                continue
            texts = members(chosen, entities, atomic=self.atomic)
            telling.add(chosen.roots.column("root"), texts, chosen.cut)
            if folded is not None:
                for chunk in entries.read(number):
                    places = chunk.column("last").to_numpy()[stand_in(chunk, chosen.listed)]
                    folded[linked.number(places)] = True
        entries.close()
        return telling

    def _fold(self, entries: pa.RecordBatch) -> pa.RecordBatch:
        return fold(entries, self.limit)

    def _relatable(self, extent: _Extent, relations: Relations) -> Iterator[Rows]:
        """The rows that can refer or be referred to."""
        refers = pa.array(relations.refers, pa.int64())
        for part, place in self._parts(extent):
            table, tables = tables_of(part)
            referred = np.array([each in relations.referred for each in tables])[table]
            shape = pc.is_in(part.column("schema_id"), value_set=refers)
            wanted = np.flatnonzero(referred | shape.to_numpy(zero_copy_only=False))
            if len(wanted):
                rows, codes = _take(part, wanted), table[wanted]
                images, one = read_images(rows, codes), np.zeros(len(wanted), np.int64)
                yield Rows(rows, images, codes, tables, place[wanted], one)

    def _entries(
        self,
        extent: _Extent,
        linked: Linked,
        found: Families,
        entities: tuple[Entity, ...],
        scratch: Scratch,
    ) -> Bins:
        """What related rows changed, in bins of families that are told together."""
        bins, entries = _bins(found.root, scratch), scratch.bins(ENTRIES)
        known = {table: code for code, table in enumerate(extent.tables)}
        for part, place in self._parts(extent):
            wanted = np.flatnonzero(linked.has(place))
            if not len(wanted):
                continue
            rows, number = _take(part, wanted), linked.number(place[wanted])
            codes, tables = tables_of(rows)
            table = np.array([known.get(each, -1) for each in tables])[codes]
            root = found.root[number]
            kin = Kin(place[wanted], linked.place[root], linked.op[root], found.gained[number])
            made = entries_of(rows, read_images(rows, table), table, entities, kin)
            entries.scatter(bins[linked.number(made.column("root").to_numpy())], made)
        return entries

    def _parts(self, extent: _Extent) -> Iterator[tuple[EventBatch, Places]]:
        """The mutations and their places, a few at a time."""
        for piece in self.pieces():
            events = _mutations(piece)
            for start in range(0, len(events), _ROWS_AT_ONCE):
                part = EventBatch(events.records.slice(start, _ROWS_AT_ONCE))
                yield part, part.column("sequence_number").to_numpy() - extent.first


def _mutations(piece: EventBatch) -> EventBatch:
    mutates = pc.less(piece.column("op"), int(Operation.READ))
    return piece if pc.all(mutates, min_count=0).as_py() else piece.filter(mutates)


def _take(part: EventBatch, places: Places) -> EventBatch:
    return part if len(places) == len(part) else EventBatch(part.records.take(pa.array(places)))


def _bins(root: Places, scratch: Scratch) -> Places:
    """A bin for each root, so that few rows are in a bin, unless a family has more."""
    tally = scratch.array(len(root), np.int64)
    for span in spans(len(root)):
        np.add.at(tally, root[span], 1)
    rows = max(scratch.max_bytes // _ENTRY_BYTES, 1)
    before = 0
    for span in spans(len(root)):
        ends = before + np.cumsum(tally[span])
        before = int(ends[-1])
        tally[span] = (ends - tally[span]) // rows
    return tally
