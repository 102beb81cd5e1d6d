"""Keys: the values by which rows refer to each other, as text, and the pairs that they give."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, TableId
from headwater.format.cdcformat.family.relations import Columns, Relations
from headwater.format.cdcformat.groups import Assembly, groups
from headwater.format.cdcformat.images import Images
from headwater.format.cdcformat.members import Places
from headwater.format.text import TEXT, join

KEYS = pa.schema([("text", TEXT), ("place", pa.int64())])

_SEPARATOR = "\n"  # stands in no JSON text that is compact
_PERIOD = 64
# Any odd numbers that look random, the same in every process.
_WEIGHTS = np.random.default_rng(13).integers(0, 1 << 63, _PERIOD, np.uint64) * np.uint64(2) + 1


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Events and what is known of their rows.

    `place` are the places that keys are given with; `numbers` tell transactions apart.
    """

    batch: EventBatch
    images: Images
    table: Places
    tables: tuple[TableId, ...]
    place: Places
    numbers: Places

    def referred(self, relations: Relations) -> pa.RecordBatch:
        """The keys by which the rows can be referred to, each with the row's place."""
        return self._keys(self._referred(relations))

    def referring(self, relations: Relations) -> pa.RecordBatch:
        """The keys of what the rows refer to, or did before the change."""
        return self._keys(self._referring(relations))

    def _referred(self, relations: Relations) -> Iterator[tuple[Places, pa.Array]]:
        for code, table in enumerate(self.tables):
            for columns, target in relations.referred.get(table, ()):
                events = np.flatnonzero(self.table == code)
                yield events, self._texts(target, events, self._shown, columns)

    def _referring(self, relations: Relations) -> Iterator[tuple[Places, pa.Array]]:
        changed = (self.images.before >= 0) & (self.images.after >= 0)
        for (schema_id,), events in groups(self.batch.column("schema_id").to_numpy()):
            for columns, target in relations.refers.get(schema_id, ()):
                yield events, self._texts(target, events, self._shown, columns)
                older = events[changed[events]]
                yield older, self._texts(target, older, self.images.before, columns)

    def _keys(self, found: Iterator[tuple[Places, pa.Array]]) -> pa.RecordBatch:
        texts, places = [pa.array([], TEXT)], [np.zeros(0, np.int64)]
        for events, column in found:
            texts.append(column.drop_null())
            places.append(self.place[events[column.is_valid().to_numpy(zero_copy_only=False)]])
        return pa.record_batch([pa.concat_arrays(texts), np.concatenate(places)], schema=KEYS)

    @property
    def _shown(self) -> Places:
        return np.where(self.images.after >= 0, self.images.after, self.images.before)

    def _texts(self, target: int, events: Places, images: Places, names: Columns) -> pa.Array:
        """Target, transaction and values as one text; null where a value is null or not sent."""
        keys = Assembly(len(events), TEXT)
        held = np.flatnonzero(images[events] >= 0)
        for (layout,), chosen in groups(self.images.layout[images[events[held]]]):
            columns = self.images.columns[layout]
            if not columns.keys() >= set(names):
                continue
            places = held[chosen]
            rows = images[events[places]]
            values = [self.images.values(rows, columns[name]) for name in names]
            parts = [part for value in values for part in (_SEPARATOR, value)]
            text = join(f"{target},", pa.array(self.numbers[events[places]]), *parts)
            for value in values:
                text = pc.if_else(pc.equal(value, "null"), None, text)
            keys.put(places, text)
        return keys.column()


def first_of_each(keys: pa.RecordBatch) -> pa.RecordBatch:
    """Each key once, with the place where it stands first."""
    encoded = keys.column("text").dictionary_encode()
    if len(encoded.dictionary) == len(keys):
        return keys
    _, first = np.unique(encoded.indices.to_numpy(), return_index=True)
    return keys.take(pa.array(first))


def pair(referred: pa.RecordBatch, referring: pa.RecordBatch) -> tuple[Places, Places]:
    """The places of rows that are referred to, the first for each key, and of those that refer."""
    found = pc.index_in(referring.column("text"), value_set=referred.column("text"))
    hit = found.is_valid().to_numpy(zero_copy_only=False)
    parent = referred.column("place").to_numpy()[found.drop_null().to_numpy()]
    child = referring.column("place").to_numpy()[hit]
    others = parent != child
    return parent[others], child[others]


def bins_of(texts: pa.Array, count: int) -> Places:
    """A bin for each of these texts, which are not empty; the same for the same text."""
    if count == 1 or not len(texts):
        return np.zeros(len(texts), np.int64)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    octets = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    starts = bounds[:-1] - bounds[0]
    turn = np.arange(len(octets)) - np.repeat(starts, np.diff(bounds))
    sums = np.add.reduceat(octets.astype(np.uint64) * _WEIGHTS[turn % _PERIOD], starts)
    return ((sums >> np.uint64(33)) % np.uint64(count)).astype(np.int64)
