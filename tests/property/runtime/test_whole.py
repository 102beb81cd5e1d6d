"""However a log is stored and deliveries are cut, a transaction is seen whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import TransientError
from headwater.event import EventBatch
from headwater.runtime import Subscription, SubscriptionPolicy, WholeTransactions
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.testing.clock import FakeClock
from headwater.testing.memory import MemoryLog
from headwater.transform import Chain

DULL = 7  # transactions of this size stay as they are


class Sizes:
    """Tells each event the size of its transaction; refuses one that is not whole."""

    def __init__(self, fails: set[int]) -> None:
        self.open: list[Sized] = []
        self._fails = fails
        self._calls = 0

    def __call__(self, batch: EventBatch) -> EventBatch:
        self.count()
        ends = [0, *(n + 1 for n, end in enumerate(batch.ends_transaction()) if end)]
        sizes = [end - start for start, end in pairwise(ends)]
        assert sum(sizes) == len(batch)
        return told(batch, [size for size in sizes for _ in range(size)])

    def study(self, pieces: Callable[[], Iterator[EventBatch]]) -> Sized | None:
        self.count()
        assert not self.open
        whole = EventBatch.concat(list(pieces()))
        assert EventBatch.concat(list(pieces())).equals(whole)
        assert not whole.ends_transaction()[:-1].any()
        assert whole.column("transaction")[0].as_py()["event_index"] == 0
        if len(whole) == DULL:
            return None
        self.open.append(Sized(self, len(whole)))
        return self.open[-1]

    def count(self) -> None:
        """A call; some fail for the moment."""
        self._calls += 1
        if self._calls in self._fails:
            raise TransientError("log-busy", "try again")


class Sized:
    """Hands out two events at a time."""

    def __init__(self, sizes: Sizes, size: int) -> None:
        self._sizes = sizes
        self._size = size

    def cut(self, piece: EventBatch) -> Iterator[EventBatch]:
        for start in range(0, len(piece), 2):
            yield piece.slice(start, 2)

    def __call__(self, batch: EventBatch) -> EventBatch:
        self._sizes.count()
        assert len(batch) <= 2
        return told(batch, [self._size] * len(batch))

    def close(self) -> None:
        if self in self._sizes.open:
            self._sizes.open.remove(self)


def told(batch: EventBatch, sizes: list[int]) -> EventBatch:
    place = batch.records.schema.get_field_index("context")
    texts = [None if size == DULL else f'{{"size":{size}}}' for size in sizes]
    field, column = batch.records.schema.field(place), pa.array(texts, pa.string())
    return EventBatch(batch.records.set_column(place, field, column), batch.closes_transaction)


def stored(sizes: list[int], piece: int, *, ends_apart: bool) -> MemoryLog:
    """A log of such transactions, appended in pieces; their ends may come without an event."""
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    for number, size in enumerate(sizes):
        first = sum(sizes[:number]) + 1
        for at in range(0, size, piece):
            count = min(piece, size - at)
            part = inserts(
                first + at, count, tx_id=number, first_index=at,
                closes_transaction=at + count == size and not ends_apart,
            )  # fmt: skip
            writer.append(source_batch(part, first + at))
        if ends_apart:
            writer.append(source_batch(EventBatch.concat([]), first + size - 1))
    writer.close()
    return log


@given(
    sizes=st.lists(st.integers(1, 14), min_size=1, max_size=8),
    piece=st.integers(1, 9),
    max_events=st.integers(1, 15),
    ends_apart=st.booleans(),
    fails=st.sets(st.integers(1, 30)),
)
def test_transactions_are_whole_when_deliveries_cut_them(
    sizes: list[int], piece: int, max_events: int, ends_apart: bool, fails: set[int]
) -> None:
    log = stored(sizes, piece, ends_apart=ends_apart)
    reader, inner = log.reader(), Sizes(fails)
    whole = WholeTransactions(reader, inner, before=Chain(), after=Chain())
    policy = SubscriptionPolicy(max_events=max_events)
    subscription = Subscription(
        reader, log.cursor("c"), clock=FakeClock(), policy=policy, transform=whole
    )
    subscription.finish()
    texts: list[str | None] = []
    while not subscription.finished:
        try:
            delivery = subscription.poll(1)
        except TransientError:
            continue
        assert delivery is not None
        assert delivery.first_sequence == delivery.events.first_sequence == len(texts) + 1
        texts += delivery.events.column("context").to_pylist()
        delivery.ack()
    assert texts == [
        None if size == DULL else f'{{"size":{size}}}' for size in sizes for _ in range(size)
    ]
    assert subscription.acked == len(texts)
    whole.close()
    assert not inner.open
