"""Records of several kinds in one sequence: each kind is taken in one go, the order is kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import pyarrow as pa

from headwater.event import EventBatch

_K = TypeVar("_K", bound=Hashable)


def groups(kinds: Sequence[_K]) -> dict[_K, list[int]]:
    """The places of each kind."""
    found: dict[_K, list[int]] = {}
    for place, kind in enumerate(kinds):
        found.setdefault(kind, []).append(place)
    return found


def taken(batch: EventBatch, places: Sequence[int]) -> EventBatch:
    """The events at these places; the batch itself if that is all of them."""
    if len(places) == len(batch):
        return batch
    return EventBatch(batch.records.take(pa.array(places, pa.int64())), batch.closes_transaction)


def read_groups(kinds: Sequence[_K], read: Callable[[_K, Sequence[int]], EventBatch]) -> EventBatch:
    """One batch in the order of `kinds`, of which `read` gives the events of one kind."""
    found = groups(kinds)
    batches = [read(kind, places) for kind, places in found.items()]
    joined = EventBatch.concat(batches)
    if len(found) < 2:
        return joined
    order = [0] * len(kinds)
    for row, place in enumerate(place for places in found.values() for place in places):
        order[place] = row
    return EventBatch(joined.records.take(pa.array(order, pa.int64())))
