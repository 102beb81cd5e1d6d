"""However a log is stored and deliveries are cut, a transaction is seen whole or not at all."""

from __future__ import annotations

import logging

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.event import EventBatch
from headwater.runtime import (
    Subscription,
    SubscriptionPolicy,
    TransactionLimits,
    WholeTransactions,
)
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.testing.clock import FakeClock
from headwater.testing.memory import MemoryLog

LIMIT = 6


class Sizes:
    """Tells each event the size of its transaction; refuses one that is not whole."""

    def __call__(self, batch: EventBatch) -> EventBatch:
        assert batch.closes_transaction
        blocks = batch.column("transaction").to_pylist()
        told: list[str | None] = []
        for block in blocks:
            size = sum(each["tx_id"] == block["tx_id"] for each in blocks)
            first = min(each["event_index"] for each in blocks if each["tx_id"] == block["tx_id"])
            assert first == 0
            told.append(f'{{"size":{size}}}')
        return _with_context(batch, told)


def mark(batch: EventBatch) -> EventBatch:
    return _with_context(batch, ['{"beyond":1}'] * len(batch))


def _with_context(batch: EventBatch, texts: list[str | None]) -> EventBatch:
    place = batch.records.schema.get_field_index("context")
    field = batch.records.schema.field(place)
    column = pa.array(texts, pa.string())
    return EventBatch(batch.records.set_column(place, field, column), batch.closes_transaction)


def stored(sizes: list[int], piece: int) -> MemoryLog:
    """A log of such transactions, appended in pieces."""
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    for number, size in enumerate(sizes):
        first = sum(sizes[:number]) + 1
        for at in range(0, size, piece):
            count = min(piece, size - at)
            part = inserts(
                first + at, count, tx_id=number, first_index=at,
                closes_transaction=at + count == size,
            )  # fmt: skip
            writer.append(source_batch(part, first + at))
    writer.close()
    return log


def delivered(log: MemoryLog, max_events: int, limits: TransactionLimits) -> list[str]:
    reader = log.reader()
    subscription = Subscription(
        reader,
        log.cursor("c"),
        clock=FakeClock(),
        policy=SubscriptionPolicy(max_events=max_events),
        transform=WholeTransactions(reader, Sizes(), mark, limits),
    )
    subscription.finish()
    texts: list[str] = []
    for delivery in subscription:
        assert delivery.events.first_sequence == len(texts) + 1
        texts += delivery.events.column("context").to_pylist()
        delivery.ack()
    return texts


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(1, 14), min_size=1, max_size=8), st.integers(1, 9), st.integers(1, 15))
def test_transactions_are_whole_when_deliveries_cut_them(
    caplog: pytest.LogCaptureFixture, sizes: list[int], piece: int, max_events: int
) -> None:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "headwater.transactions"):
        texts = delivered(stored(sizes, piece), max_events, TransactionLimits(max_events=LIMIT))
    expected = [
        '{"beyond":1}' if size > LIMIT else f'{{"size":{size}}}'
        for size in sizes
        for _ in range(size)
    ]
    assert texts == expected
    assert bool(caplog.records) == any(size > LIMIT for size in sizes)


@given(st.integers(1, 9), st.integers(1, 15))
def test_transaction_goes_beyond_when_its_rows_are_too_many_bytes(
    piece: int, max_events: int
) -> None:
    log = stored([3, 10, 2], piece)
    rows = log.events()
    sizes = pc.binary_length(rows.column("after")).to_pylist()
    limits = TransactionLimits(max_bytes=sum(sizes[3:13]) - 1)
    texts = delivered(log, max_events, limits)
    assert texts == ['{"size":3}'] * 3 + ['{"beyond":1}'] * 10 + ['{"size":2}'] * 2
