"""Cutting: stored batches into deliveries of a bounded size, at transaction borders if possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from headwater.event import EventBatch


def cut(stored: Iterable[EventBatch], max_events: int, max_bytes: int) -> Iterator[EventBatch]:
    """Join small batches and slice large ones, in order, without copying what is sliced."""
    waiting: list[EventBatch] = []
    events = size = 0
    for batch in stored:
        if waiting and (
            events + len(batch) > max_events or size + batch.records.nbytes > max_bytes
        ):
            yield EventBatch.concat(waiting)
            waiting, events, size = [], 0, 0
        if len(batch) > max_events or batch.records.nbytes > max_bytes:
            yield from _sliced(batch, max_events, max_bytes)
            continue
        waiting.append(batch)
        events, size = events + len(batch), size + batch.records.nbytes
    if waiting:
        yield EventBatch.concat(waiting)


def _sliced(batch: EventBatch, max_events: int, max_bytes: int) -> Iterator[EventBatch]:
    ends = batch.ends_transaction()
    start = 0
    while start < len(batch):
        count = _fitting(batch, start, max_events, max_bytes)
        borders = np.flatnonzero(ends[start : start + count])
        if len(borders):
            count = int(borders[-1]) + 1
        closes = bool(ends[start + count - 1])
        yield EventBatch(batch.records.slice(start, count), closes)
        start += count


def _fitting(batch: EventBatch, start: int, max_events: int, max_bytes: int) -> int:
    """How many events from `start` on fit; at least one, for a row larger than the limit."""
    count = min(max_events, len(batch) - start)
    while count > 1 and batch.records.slice(start, count).nbytes > max_bytes:
        count //= 2
    return count
