"""Telling: what was found out about a large transaction, handed out as its events go by."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch
from headwater.format.cdcformat.family.linking import Linked
from headwater.format.cdcformat.family.scratch import Scratch
from headwater.format.cdcformat.groups import Assembly
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.cdcformat.told import tell
from headwater.format.text import TEXT

_TOLD = pa.schema([("root", pa.int64()), ("cut", pa.bool_()), ("members", TEXT)])
_TOLD_BYTES = 16 << 20  # of text that is handed out at once, unless one event has more


class Telling:
    """The cascades of one transaction, by the places of their roots. Implements contract.Studied.

    Places are counted from the sequence number `first` on. `folded` tells by number the related
    events that stand in their root's event alone; it is filled while cascades are added.
    """

    def __init__(
        self, scratch: Scratch, first: int, linked: Linked, folded: Flags | None = None
    ) -> None:
        self._scratch = scratch
        self._first = first
        self._linked = linked
        self._folded = folded
        self._told = scratch.bins(_TOLD)
        self._bounds: list[int] = []  # the first root of each bin
        self._last_read: tuple[int, pa.RecordBatch] | None = None

    def add(self, roots: pa.Array, members: pa.Array, cut: Flags) -> None:
        """The members of more cascades; roots come in order."""
        batch = pa.record_batch([roots, pa.array(cut), members], schema=_TOLD)
        sizes = pc.binary_length(members).to_numpy()
        most = min(_TOLD_BYTES, self._scratch.max_bytes)
        starts = np.flatnonzero(np.diff((np.cumsum(sizes) - sizes) // most, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
            self._told.put(len(self._bounds), batch.slice(start, end - start))
            self._bounds.append(roots[start].as_py())

    def cut(self, piece: EventBatch) -> Iterator[EventBatch]:
        """The piece in runs of which each can be told without much text in memory."""
        bounds = np.searchsorted(self._places(piece), self._bounds)
        inner = np.unique(bounds[(bounds > 0) & (bounds < len(piece))]).tolist()
        for start, end in zip([0, *inner], [*inner, len(piece)], strict=True):
            yield piece.slice(start, end - start)

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The events of a run with their cascades; without the rows that stand in another's."""
        places = self._places(batch)
        if not len(places):
            return batch
        cascades, cut = Assembly(len(batch), TEXT), np.zeros(len(batch), np.bool_)
        low, high = np.searchsorted(self._bounds, places[[0, -1]], side="right")
        for number in range(max(low - 1, 0), high):
            told = self._read(number)
            roots = told.column("root").to_numpy()
            here = np.flatnonzero(np.isin(roots, places))
            at = np.searchsorted(places, roots[here])
            cascades.put(at, told.column("members").take(pa.array(here)))
            cut[at] = told.column("cut").to_numpy(zero_copy_only=False)[here]
        done = tell(batch, cascades.column(), pa.array(cut))
        if self._folded is None:
            return done
        stands = self._linked.has(places)
        stands[stands] = self._folded[self._linked.number(places[stands])]
        return done.filter(pa.array(~stands))

    def close(self) -> None:
        """Give back what it holds. Safe to call twice."""
        self._last_read = None
        self._scratch.close()

    def _places(self, piece: EventBatch) -> Places:
        places: Places = piece.column("sequence_number").to_numpy() - self._first
        return places

    def _read(self, number: int) -> pa.RecordBatch:
        if self._last_read is None or self._last_read[0] != number:
            self._last_read = None
            self._last_read = number, pa.concat_batches(list(self._told.read(number)))
        return self._last_read[1]
