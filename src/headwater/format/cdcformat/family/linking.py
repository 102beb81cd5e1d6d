"""Linking: the pairs of related rows of a transaction that is not in memory as a whole.

Equal keys fall into the same bin, so each bin is paired for itself: the rows that are referred to
in memory, each key once, and those that refer piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.format.cdcformat.family.keys import KEYS, Rows, bins_of, first_of_each, pair
from headwater.format.cdcformat.family.relations import Relations
from headwater.format.cdcformat.family.roots import spans
from headwater.format.cdcformat.family.scratch import Bins, Scratch
from headwater.format.cdcformat.members import Flags, Places

_PAIRS = pa.schema([("parent", pa.int64()), ("child", pa.int64())])
_KEY_BYTES = 128  # of the keys of one event, more or less
_MOST_BINS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """The events that are related, known by their numbers: `place` and `op` of each.

    `pairs` gives the numbers of events that are referred to and of those that refer.
    """

    place: Places
    op: npt.NDArray[np.int8]
    pair_bins: Bins

    def pairs(self) -> Iterator[tuple[Places, Places]]:
        """All pairs, piece by piece."""
        return _read(self.pair_bins)

    def number(self, places: Places) -> Places:
        """The numbers of events that are related."""
        found: Places = np.searchsorted(self.place, places)
        return found

    def has(self, places: Places) -> Flags:
        """Which of these places are those of related events."""
        number = np.minimum(self.number(places), len(self.place) - 1)
        flags: Flags = self.place[number] == places
        return flags


def link(rows: Iterable[Rows], relations: Relations, scratch: Scratch, count: int) -> Linked | None:
    """The related events among these, of which `count` is the number of places; None for none."""
    bins = min(1 + count * _KEY_BYTES // scratch.max_bytes, _MOST_BINS)
    referred, referring = scratch.bins(KEYS), scratch.bins(KEYS)
    ops = scratch.array(count, np.int8)
    for part in rows:
        ops[part.place] = part.batch.column("op").to_numpy()
        for kept, keys in (
            (referred, part.referred(relations)),
            (referring, part.referring(relations)),
        ):
            kept.scatter(bins_of(keys.column("text"), bins), keys)
    pairs = _paired(referred, referring, scratch)
    referred.close()
    referring.close()
    place = _places(pairs, scratch, count)
    if not len(place):
        return None
    op = scratch.array(len(place), np.int8)
    for span in spans(len(place)):
        op[span] = ops[place[span]]
    return _numbered(Linked(place, op, pairs), scratch)


def _paired(referred: Bins, referring: Bins, scratch: Scratch) -> Bins:
    pairs = scratch.bins(_PAIRS)
    for number in referred.numbers():
        known = referred.gather(number, first_of_each)
        for chunk in referring.read(number):
            _put(pairs, *pair(known, chunk))
    return pairs


def _places(pairs: Bins, scratch: Scratch, count: int) -> Places:
    """The places that stand in pairs, in order."""
    stands = scratch.array(count, np.bool_)
    for sides in _read(pairs):
        for side in sides:
            stands[side] = True
    total = sum(int(np.count_nonzero(stands[span])) for span in spans(count))
    places: Places = scratch.array(total, np.int64)
    at = 0
    for span in spans(count):
        found = span.start + np.flatnonzero(stands[span])
        places[at : at + len(found)] = found
        at += len(found)
    return places


def _numbered(linked: Linked, scratch: Scratch) -> Linked:
    """The same, with pairs of numbers in place of places."""
    pairs = scratch.bins(_PAIRS)
    for parent, child in linked.pairs():
        _put(pairs, linked.number(parent), linked.number(child))
    linked.pair_bins.close()
    return Linked(linked.place, linked.op, pairs)


def _put(pairs: Bins, parent: Places, child: Places) -> None:
    if len(parent):
        pairs.put(0, pa.record_batch([parent, child], schema=_PAIRS))


def _read(pairs: Bins) -> Iterator[tuple[Places, Places]]:
    for chunk in pairs.read(0):
        yield chunk.column("parent").to_numpy(), chunk.column("child").to_numpy()
