"""DeliveryLoop: from a subscription into a sink, and only when it is safe there, an ack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from headwater.contract import Clock, Metrics, Sink, WriteStatus
from headwater.deliver import Backoff, DeadLetters, RetryPolicy, Window
from headwater.errors import DataError, HeadwaterError
from headwater.event import EventBatch
from headwater.failpoint import failpoint
from headwater.runtime.lifecycle import State
from headwater.runtime.loop import Loop
from headwater.runtime.meter import Meter
from headwater.runtime.subscription import Delivery, Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPolicy:
    """How much may be accepted and not yet durable, how long, and how failures are retried."""

    max_pending_events: int = 50_000
    max_pending_bytes: int = 64 << 20
    flush_interval_s: float = 1.0
    poll_timeout_s: float = 0.2
    retry: RetryPolicy = field(default_factory=RetryPolicy)


T = TypeVar("T")


class _Stopped(Exception):  # noqa: N818 - a way out of nested steps, not an error
    """A forced stop was asked for while waiting to try again."""


class DeliveryLoop(Loop):
    """Writes deliveries in order; acknowledges what the sink holds durably (INV-1).

    A write that may work later is tried again. When a flush fails, nobody knows what was lost: the
    sink is opened anew and everything not yet durable is written again. A record that can never be
    written goes to the dead letters, or stops the loop where there are none; it is never dropped.
    """

    def __init__(
        self,
        subscription: Subscription,
        sink: Sink,
        *,
        clock: Clock,
        metrics: Metrics,
        policy: DeliveryPolicy | None = None,
        dead_letters: DeadLetters | None = None,
    ) -> None:
        self._subscription = subscription
        self._metrics = metrics
        super().__init__(f"delivery.{subscription.name}", clock)
        self._sink = sink
        self._policy = policy or DeliveryPolicy()
        self._dead_letters = dead_letters
        self._backoff = Backoff(self._policy.retry)
        self._window = Window(self._policy.max_pending_events, self._policy.max_pending_bytes)
        self._pending: list[Delivery] = []
        self._oldest_pending_s = 0.0
        self.last_progress_s = clock.monotonic_s()
        self.last_error: HeadwaterError | None = None
        self.rate = Meter(clock)

    @property
    def consumer(self) -> str:
        """The cursor's name."""
        return self._subscription.name

    @property
    def acked(self) -> int:
        """The cursor's durable place."""
        return self._subscription.acked

    def _state_changed(self, before: State, after: State) -> None:
        super()._state_changed(before, after)
        for state, value in ((before, 0), (after, 1)):
            self._metrics.gauge(
                "headwater_delivery_state", value, consumer=self.consumer, state=state.value
            )

    def _work(self) -> None:
        try:
            self._persist(self._sink.open)
            self.lifecycle.to(State.STREAMING)
            while self._step():
                pass
        except _Stopped:
            self.log.info("stopped", extra={"delivered_again": len(self._pending)})
        finally:
            self._sink.close()
            if self._dead_letters is not None:
                self._dead_letters.close()

    def _step(self) -> bool:
        """Deliver or flush once; False at the end."""
        if self._stopping.is_set():
            return False
        if self._draining.is_set() and self.state is State.STREAMING:
            self.lifecycle.to(State.DRAINING)
            self._persist(self._subscription.finish)
        wait_s = 0.0 if self._pending else self._policy.poll_timeout_s
        delivery = self._persist(lambda: self._subscription.poll(wait_s))
        if delivery is not None:
            self._deliver(delivery)
        if delivery is None or self._window.full or self._overdue():
            self._flush()
        return not (delivery is None and self._subscription.finished)

    def _deliver(self, delivery: Delivery) -> None:
        failpoint("delivery.before_write")
        began_s = self.clock.monotonic_s()
        status = self._write(delivery.events)
        self._metrics.observe(
            "headwater_delivery_write_seconds",
            self.clock.monotonic_s() - began_s,
            consumer=self.consumer,
        )
        failpoint("delivery.after_write")
        if status is WriteStatus.DURABLE:
            self._ack([delivery])
            return
        if not self._pending:
            self._oldest_pending_s = self.clock.monotonic_s()
        self._pending.append(delivery)
        self._window.enter(delivery.events)

    def _write(self, events: EventBatch) -> WriteStatus:
        """Write a batch; where a record in it is bad, find it by halves and set it aside."""
        try:
            return self._persist(lambda: self._sink.write(events))
        except DataError as error:
            if self._dead_letters is None:
                raise
            if len(events) == 1:
                return self._bury(self._dead_letters, events, error)
        middle = len(events) // 2
        halves = [self._write(events.slice(0, middle)), self._write(events.slice(middle))]
        return WriteStatus.ACCEPTED if WriteStatus.ACCEPTED in halves else WriteStatus.DURABLE

    def _bury(self, letters: DeadLetters, event: EventBatch, error: DataError) -> WriteStatus:
        if letters.put(event, error):
            self._metrics.count(
                "headwater_delivery_dead_letters_total", consumer=self.consumer, code=error.code
            )
            self.log.warning(
                "set aside", extra={"sequence_number": event.first_sequence, "code": error.code}
            )
        return WriteStatus.DURABLE

    def _flush(self) -> None:
        if not self._pending:
            return
        try:
            self._sink.flush()
        except HeadwaterError as error:
            self._wait_after(error)
            self._rewrite()
        self._ack(self._pending)
        for delivery in self._pending:
            self._window.leave(delivery.events)
        self._pending = []

    def _rewrite(self) -> None:
        """Everything that is not durable, again from the first, through a new connection."""
        self._sink.close()
        while True:
            self._persist(self._sink.open)
            for delivery in self._pending:
                self._write(delivery.events)
            try:
                self._sink.flush()
            except HeadwaterError as error:
                self._wait_after(error)
                self._sink.close()
            else:
                return

    def _ack(self, deliveries: list[Delivery]) -> None:
        failpoint("delivery.before_ack")
        self._persist(lambda: self._subscription.ack(*deliveries))
        failpoint("delivery.after_ack")
        count = sum(map(len, deliveries))
        self._backoff.succeeded()
        self.last_progress_s = self.clock.monotonic_s()
        self.rate.add(count)
        self._metrics.count("headwater_delivery_events_total", count, consumer=self.consumer)

    def _persist(self, action: Callable[[], T]) -> T:
        """Do it, again and again while the error's kind says that it may work later."""
        while True:
            try:
                return action()
            except HeadwaterError as error:
                if not error.retryable:
                    raise
                self._wait_after(error)

    def _wait_after(self, error: HeadwaterError) -> None:
        self.last_error = error
        delay_s = self._backoff.delay_s(error)
        self._metrics.count(
            "headwater_delivery_retries_total", consumer=self.consumer, code=error.code
        )
        self.log.warning("trying again", extra={"code": error.code, "delay_s": round(delay_s, 3)})
        self._pause(delay_s)
        if self._stopping.is_set():
            raise _Stopped

    def _overdue(self) -> bool:
        waited_s = self.clock.monotonic_s() - self._oldest_pending_s
        return bool(self._pending) and waited_s >= self._policy.flush_interval_s
