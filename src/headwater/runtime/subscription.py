"""Subscription: one consumer's view of a log, as deliveries that it acknowledges."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

from headwater.contract import Clock, Cursor, LogReader, Parting, Transform
from headwater.deliver import Window
from headwater.errors import StateError
from headwater.event import Event, EventBatch
from headwater.failpoint import failpoint
from headwater.runtime.cutting import cut
from headwater.runtime.ledger import Ledger, Token


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionPolicy:
    """How large deliveries are, how soon new data is noticed, how much may be unacknowledged.

    The in-flight limits make iteration wait for acknowledgements. They are for consumers that
    acknowledge from other threads; without a limit nothing waits, and a delivery that is never
    acknowledged costs a few bytes here and comes again after a restart.
    """

    max_events: int = 5_000
    max_bytes: int = 16 << 20
    first_wait_s: float = 0.002
    longest_wait_s: float = 0.1
    max_in_flight_events: int | None = None
    max_in_flight_bytes: int | None = None


class Delivery:
    """A run of events, and the right to acknowledge it once.

    It covers `first_sequence` to `last_sequence`. `events` may hold fewer, where the subscription
    filters; acknowledging covers the whole run.
    """

    __slots__ = ("_subscription", "_token", "events")

    def __init__(self, events: EventBatch, token: Token, subscription: Subscription) -> None:
        self.events = events
        self._token = token
        self._subscription = subscription

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def __repr__(self) -> str:
        return f"<Delivery of {len(self)} events, {self.first_sequence} to {self.last_sequence}>"

    @property
    def first_sequence(self) -> int:
        """The first sequence number that the delivery covers."""
        return self._token.after + 1

    @property
    def last_sequence(self) -> int:
        """The last sequence number that the delivery covers."""
        return self._token.last

    def borders(self) -> list[int]:
        """The sequence numbers at which a prefix may be acknowledged: where transactions end."""
        return [int(number) for number in self._token.borders]

    def ack(self, upto: int | None = None) -> None:
        """Say that the events are dealt with: all of them, or those up to a border.

        The consumer's durable place moves over what is acknowledged without a hole before it. Once
        this returns, an event at or before that place is not delivered again. Each event is
        acknowledged once; if the log cannot be written, the error leaves the delivery
        unacknowledged and the call may be repeated.
        """
        self._subscription.ack(self, upto=upto)

    @property
    def token(self) -> Token:
        """The ledger's entry."""
        return self._token


class Subscription:
    """Deliveries from a consumer's cursor on. One thread reads; any thread acknowledges.

    Holds INV-1 (with ledger.py) and INV-3: a new subscription begins after the durable cursor.
    """

    def __init__(
        self,
        reader: LogReader,
        cursor: Cursor,
        *,
        clock: Clock,
        policy: SubscriptionPolicy | None = None,
        transform: Transform | Parting | None = None,
    ) -> None:
        self._reader = reader
        self._cursor = cursor
        self._clock = clock
        self._policy = policy or SubscriptionPolicy()
        self._transform = transform
        self._ledger = Ledger(cursor.acked)
        self._window = Window(self._policy.max_in_flight_events, self._policy.max_in_flight_bytes)
        self._parts: Iterator[EventBatch] | None = None
        self._runs: Iterator[tuple[EventBatch, EventBatch]] = iter(())
        self._known_head = cursor.acked
        self._until: int | None = None
        self._closed = False
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The consumer's name."""
        return self._cursor.name

    @property
    def acked(self) -> int:
        """The durable place."""
        return self._cursor.acked

    @property
    def delivered(self) -> int:
        """The last sequence number handed out."""
        return self._ledger.delivered

    @property
    def in_flight(self) -> int:
        """How many deliveries are not settled."""
        return self._ledger.in_flight

    @property
    def finished(self) -> bool:
        """Whether nothing more will be delivered."""
        return self._closed or (self._until is not None and self.delivered >= self._until)

    def finish(self, until: int | None = None) -> None:
        """Deliver up to `until`, the log's head now if None, and end there."""
        self._until = self._reader.bounds().head if until is None else until

    def __iter__(self) -> Iterator[Delivery]:
        while not self.finished:
            delivery = self.poll(self._policy.longest_wait_s)
            if delivery is not None:
                yield delivery

    def poll(self, timeout_s: float) -> Delivery | None:
        """The next delivery, or None if none came in time or none will come."""
        give_up = self._clock.monotonic_s() + timeout_s
        wait_s = self._policy.first_wait_s
        while not self.finished:
            delivery = None if self._window.full else self._next()
            if delivery is not None:
                return delivery
            left = give_up - self._clock.monotonic_s()
            if left <= 0:
                break
            self._clock.sleep(min(wait_s, left))
            wait_s = min(wait_s * 2, self._policy.longest_wait_s)
        return None

    def _next(self) -> Delivery | None:
        while True:
            run = self._next_run()
            if run is None:
                return None
            batch, kept = run
            failpoint("subscription.before_deliver")
            with self._lock:
                token = self._ledger.deliver(batch.last_sequence, batch.borders())
                delivery = Delivery(kept, token, self)
                self._window.enter(kept)
                if len(kept):
                    return delivery
                # Nothing is left to acknowledge, and a consumer of a rare table must not hold
                # retention back; the ledger still waits for everything before it.
                self.ack(delivery)

    def _next_run(self) -> tuple[EventBatch, EventBatch] | None:
        """A run of events that is not delivered yet, with what the transform makes of it."""
        try:
            while (run := next(self._runs, None)) is None:
                batch = self._next_batch()
                if batch is None:
                    return None
                self._runs = self._transformed(batch)
        except BaseException:
            # Read it again next time: it was not delivered.
            self._parts, self._runs = None, iter(())
            raise
        return run

    def _transformed(self, batch: EventBatch) -> Iterator[tuple[EventBatch, EventBatch]]:
        match self._transform:
            case None:
                yield batch, batch
            case Parting() as parting:
                yield from parting.parts(batch)
            case transform:
                yield batch, transform(batch)

    def _next_batch(self) -> EventBatch | None:
        batch = None if self._parts is None else self._advance(self._parts)
        if batch is not None:
            return batch
        limit = self._reader.bounds().head
        self._known_head = limit
        if self._until is not None:
            limit = min(limit, self._until)
        if limit <= self.delivered:
            return None
        stored = self._reader.read(self.delivered, limit)
        self._parts = cut(stored, self._policy.max_events, self._policy.max_bytes)
        return self._advance(self._parts)

    def _advance(self, parts: Iterator[EventBatch]) -> EventBatch | None:
        batch = next(parts, None)
        if batch is None:
            self._parts = None
            return None
        # INV-7: the head is always a border, also where the end of its transaction had no event.
        if batch.last_sequence == self._known_head and not batch.closes_transaction:
            return EventBatch(batch.records, closes_transaction=True)
        return batch

    def ack(self, *deliveries: Delivery, upto: int | None = None) -> None:
        """Acknowledge deliveries together: one durable step of the cursor for all of them."""
        with self._lock:
            if self._closed:
                raise StateError("ack-unknown", "the subscription is closed")
            marks: list[tuple[Token, int]] = []
            try:
                for delivery in deliveries:
                    token = delivery.token
                    marks.append((token, self._ledger.ack(token, upto)))
                self._settle()
            except BaseException:
                for token, mark in reversed(marks):
                    self._ledger.unack(token, mark)
                raise
            for delivery in deliveries:
                if delivery.token.done:
                    self._window.leave(delivery.events)

    def _settle(self) -> None:
        settled = self._ledger.settled()
        if settled > self._cursor.acked:
            self._cursor.ack(settled)
        self._ledger.release(settled)

    def close(self) -> None:
        """End; what was not acknowledged comes again next time. Safe to call twice."""
        with self._lock:
            self._closed = True
            self._parts, self._runs = None, iter(())
