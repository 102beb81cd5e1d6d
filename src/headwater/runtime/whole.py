"""WholeTransactions: a transform that needs whole transactions, where deliveries cut them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import LogReader, Transform
from headwater.event import EventBatch

_LOG = logging.getLogger("headwater.transactions")


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """How large a transaction may be that is looked at as a whole; bytes are those of its rows."""

    max_events: int = 10_000
    max_bytes: int = 64 << 20


class WholeTransactions:
    """Gives `inner` whole transactions only. Implements contract.Transform for one subscription.

    A transaction that a delivery does not hold whole is read from the log once more; what it
    becomes is handed out with the deliveries that it stands in. One beyond the limits would not fit
    in memory: all its events go to `beyond` instead, and the process says so in its log. Which way
    it goes depends on the transaction alone, never on how it was cut, so that a delivery which is
    repeated says the same.
    """

    def __init__(
        self,
        reader: LogReader,
        inner: Transform,
        beyond: Transform,
        limits: TransactionLimits | None = None,
    ) -> None:
        self._reader = reader
        self._inner = inner
        self._beyond = beyond
        self._limits = limits or TransactionLimits()
        self._read_last: tuple[int, EventBatch | None] = (0, None)  # by its first sequence number

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The events as `inner` makes them, or `beyond` where their transaction is too large."""
        if len(batch) == 0:
            return batch
        ends = np.flatnonzero(batch.ends_transaction()) + 1
        lead = 0 if _index(batch) == 0 else int(ends[0]) if len(ends) else len(batch)
        trail = max(lead, int(ends[-1]) if len(ends) else 0)
        done = []
        if lead:
            done.append(self._piece(batch.slice(0, lead)))
        if lead < trail:
            done += self._whole(batch.slice(lead, trail - lead))
        if trail < len(batch):
            done.append(self._piece(batch.slice(trail)))
        return EventBatch(EventBatch.concat(done).records, batch.closes_transaction)

    def _whole(self, batch: EventBatch) -> Iterator[EventBatch]:
        """Each run of transactions that go the same way."""
        ends = np.flatnonzero(batch.ends_transaction()) + 1
        starts = np.concatenate([[0], ends[:-1]])
        large = ends - starts > self._limits.max_events
        large |= np.add.reduceat(_bytes(batch), starts) > self._limits.max_bytes
        at = 0
        for too_large, run in groupby(zip(ends.tolist(), large.tolist(), strict=True), _second):
            *_, (end, _) = run
            part = batch.slice(at, end - at)
            yield self._too_large(part) if too_large else self._inner(part)
            at = end

    def _piece(self, piece: EventBatch) -> EventBatch:
        """A part of one transaction."""
        start = piece.first_sequence - _index(piece)
        if self._read_last[0] != start:
            whole = self._read(start)
            self._read_last = start, None if whole is None else self._inner(whole)
            if whole is None:
                self._warn(start)
        known = self._read_last[1]
        return self._beyond(piece) if known is None else _same_range(known, piece)

    def _read(self, start: int) -> EventBatch | None:
        """The transaction that begins at `start`, or None as soon as it is too large."""
        held: list[EventBatch] = []
        events = size = 0
        for stored in self._reader.read(start - 1):
            ends = np.flatnonzero(stored.ends_transaction()) + 1
            part = stored.slice(0, int(ends[0])) if len(ends) else stored
            events, size = events + len(part), size + int(_bytes(part).sum())
            if events > self._limits.max_events or size > self._limits.max_bytes:
                return None
            held.append(part)
            if len(ends):
                break
        return EventBatch.concat(held)

    def _too_large(self, batch: EventBatch) -> EventBatch:
        self._warn(batch.first_sequence)
        return self._beyond(batch)

    def _warn(self, start: int) -> None:
        _LOG.warning(
            "transaction too large to be looked at as a whole",
            extra={"sequence_number": start, "max_events": self._limits.max_events},
        )


def _second(pair: tuple[int, bool]) -> bool:
    return pair[1]


def _index(batch: EventBatch) -> int:
    """The first event's place in its transaction."""
    block = batch.column("transaction")[0].as_py()
    return 0 if block is None else int(block["event_index"])


def _bytes(batch: EventBatch) -> npt.NDArray[np.int64]:
    sizes = [pc.binary_length(batch.column(side)).fill_null(0) for side in ("before", "after")]
    total: npt.NDArray[np.int64] = pc.add(*(size.cast(pa.int64()) for size in sizes)).to_numpy()
    return total


def _same_range(whole: EventBatch, piece: EventBatch) -> EventBatch:
    numbers = whole.column("sequence_number")
    return whole.filter(
        pc.and_(
            pc.greater_equal(numbers, piece.first_sequence),
            pc.less_equal(numbers, piece.last_sequence),
        )
    )
