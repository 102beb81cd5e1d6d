from __future__ import annotations

import threading

import pyarrow.compute as pc
import pytest

from headwater.contract import Cursor
from headwater.errors import DataError, GapError, StateError, TransientError
from headwater.event import EventBatch
from headwater.runtime.subscription import Delivery, Subscription, SubscriptionPolicy
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.testing.clock import FakeClock
from headwater.testing.memory import MemoryCursor
from headwater.testing.scripted import MemoryLog


def _log(*transactions: int) -> MemoryLog:
    log = MemoryLog()
    _append(log, *transactions)
    return log


def _append(log: MemoryLog, *transactions: int) -> None:
    writer = log.writer(IDENTITY)
    for size in transactions:
        first = log.head + 1
        events = inserts(first, size, tx_id=first)
        writer.append(source_batch(events, first + size - 1))
    writer.close()


def _subscribe(
    log: MemoryLog, *, max_events: int = 4, cursor: Cursor | None = None
) -> Subscription:
    return Subscription(
        log.reader(),
        cursor or log.cursor("c"),
        clock=FakeClock(),
        policy=SubscriptionPolicy(max_events=max_events),
    )


def _all(subscription: Subscription) -> list[Delivery]:
    subscription.finish()
    return list(subscription)


def _ranges(deliveries: list[Delivery]) -> list[tuple[int, int]]:
    return [(each.first_sequence, each.last_sequence) for each in deliveries]


def test_subscription_delivers_whole_transactions_when_they_fit() -> None:
    deliveries = _all(_subscribe(_log(2, 1, 3, 1)))
    assert _ranges(deliveries) == [(1, 3), (4, 7)]
    assert deliveries[0].borders() == [2, 3]
    assert [event.sequence_number for event in deliveries[0]] == [1, 2, 3]


def test_subscription_slices_without_a_border_when_a_transaction_is_larger_than_a_delivery() -> (
    None
):
    log = _log(10)
    first, second, third = _all(_subscribe(log))
    assert [first.borders(), second.borders(), third.borders()] == [[], [], [10]]
    first.ack()
    second.ack()
    assert log.cursors["c"] == 0
    third.ack()
    assert log.cursors["c"] == 10


def test_subscription_begins_after_the_cursor_when_opened_again() -> None:
    """INV-3."""
    log = _log(4, 4, 4)
    first, _second, _third = _all(_subscribe(log))
    first.ack()
    assert _ranges(_all(_subscribe(log))) == [(5, 8), (9, 12)]


def test_subscription_moves_the_cursor_over_the_prefix_only_when_acked_out_of_order() -> None:
    log = _log(4, 4, 4)
    first, second, third = _all(_subscribe(log))
    third.ack()
    second.ack()
    assert log.cursors["c"] == 0
    first.ack()
    assert log.cursors["c"] == 12


def test_delivery_accepts_a_prefix_when_it_ends_at_a_border() -> None:
    log = _log(2, 2)
    (delivery,) = _all(_subscribe(log))
    with pytest.raises(StateError) as caught:
        delivery.ack(upto=3)
    assert caught.value.code == "ack-inside-transaction"
    delivery.ack(upto=2)
    assert log.cursors["c"] == 2
    delivery.ack()
    assert log.cursors["c"] == 4
    with pytest.raises(StateError) as caught:
        delivery.ack()
    assert caught.value.code == "ack-spent"


def test_delivery_can_be_acked_again_when_the_cursor_failed_to_move() -> None:
    log = _log(4)

    class Busy(MemoryCursor):
        failures = 1

        def ack(self, sequence: int) -> None:
            if self.failures:
                self.failures -= 1
                raise TransientError("log-busy", "scripted")
            super().ack(sequence)

    log.cursor("c")
    (delivery,) = _all(_subscribe(log, cursor=Busy(log, "c")))
    with pytest.raises(TransientError):
        delivery.ack()
    assert log.cursors["c"] == 0
    delivery.ack()
    assert log.cursors["c"] == 4


def test_delivery_cannot_be_acked_when_its_subscription_is_closed() -> None:
    log = _log(4)
    subscription = _subscribe(log)
    (delivery,) = _all(subscription)
    subscription.close()
    with pytest.raises(StateError) as caught:
        delivery.ack()
    assert caught.value.code == "ack-unknown"
    assert log.cursors["c"] == 0


def test_subscription_waits_with_growing_pauses_when_the_log_is_at_its_end() -> None:
    clock = FakeClock()
    log = _log(1)
    subscription = Subscription(log.reader(), log.cursor("c", start=1), clock=clock)
    assert subscription.poll(1.0) is None
    assert clock.sleeps[:3] == [0.002, 0.004, 0.008]
    assert max(clock.sleeps) <= 0.1
    _append(log, 3)
    delivery = subscription.poll(1.0)
    assert delivery is not None
    assert len(delivery) == 3


def test_subscription_ends_when_closed_from_another_thread() -> None:
    subscription = _subscribe(_log())
    timer = threading.Timer(0.05, subscription.close)
    timer.start()
    assert list(subscription) == []
    timer.join()


def test_subscription_moves_on_when_a_transform_leaves_nothing() -> None:
    log = _log(4, 4, 4)

    def odd_batches(batch: EventBatch) -> EventBatch:
        return batch.filter(pc.equal(batch.column("sequence_number"), 5))

    subscription = Subscription(
        log.reader(),
        log.cursor("c"),
        clock=FakeClock(),
        policy=SubscriptionPolicy(max_events=4),
        transform=odd_batches,
    )
    (delivery,) = _all(subscription)
    assert [event.sequence_number for event in delivery] == [5]
    assert log.cursors["c"] == 4
    delivery.ack()
    assert log.cursors["c"] == 12


def test_subscription_delivers_the_batch_again_when_its_transform_failed() -> None:
    log = _log(4, 4)
    failures = iter([True, False, False])

    def once_broken(batch: EventBatch) -> EventBatch:
        if next(failures):
            raise DataError("event-invalid", "scripted")
        return batch

    subscription = Subscription(
        log.reader(),
        log.cursor("c"),
        clock=FakeClock(),
        policy=SubscriptionPolicy(max_events=4),
        transform=once_broken,
    )
    subscription.finish()
    with pytest.raises(DataError):
        subscription.poll(0)
    assert _ranges(list(subscription)) == [(1, 4), (5, 8)]


def test_subscription_waits_for_acks_when_too_much_is_in_flight() -> None:
    log = _log(4, 4)
    policy = SubscriptionPolicy(max_events=4, max_in_flight_events=4)
    subscription = Subscription(log.reader(), log.cursor("c"), clock=FakeClock(), policy=policy)
    first = subscription.poll(0)
    assert first is not None
    assert subscription.poll(0.5) is None
    first.ack()
    second = subscription.poll(0)
    assert second is not None
    assert second.first_sequence == 5


def test_subscription_raises_when_retention_took_its_place_away() -> None:
    log = _log(4, 4)
    subscription = _subscribe(log)
    log.truncate(5)
    with pytest.raises(GapError) as caught:
        subscription.poll(0)
    assert caught.value.code == "log-truncated"


def test_subscription_treats_the_head_as_a_border_when_the_last_piece_did_not_close() -> None:
    """INV-7: visible means whole, also where the closing batch had no events."""
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 3, tx_id=1, closes_transaction=False), 0))
    writer.append(source_batch(EventBatch.concat([]), 3))
    (delivery,) = _all(_subscribe(log))
    delivery.ack()
    assert log.cursors["c"] == 3
