"""Consumer: a subscription with everything it needs, from opening to closing."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, Self

from headwater.app.deliveries import POLL_S, Deliveries
from headwater.contract import Clock, Log, Transform
from headwater.errors import StateError
from headwater.log import SqliteLog
from headwater.observe import SystemClock
from headwater.runtime import (
    CaptureLoop,
    CursorFacts,
    Delivery,
    Subscription,
    SubscriptionPolicy,
    snapshot,
)

Start = Literal["earliest", "latest"] | int
_LATEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which consumer, where it begins if its name is new, and whether retention waits for it."""

    name: str
    start: Start = "earliest"
    required: bool = False


class Consumer(Deliveries):
    """Deliveries of one log to one name. Made by `headwater.subscribe`; use it in a `with`.

    Iterating and `poll` belong to one thread; `ack` of a delivery, `drain` and `status` may be
    called from any.
    """

    def __init__(
        self,
        log: Log,
        place: Place,
        *,
        policy: SubscriptionPolicy | None = None,
        transform: Transform | None = None,
        until_head: bool = False,
    ) -> None:
        self.log = log
        self.name = place.name
        self._place = place
        self._policy = policy
        self._transform = transform
        self._until_head = until_head
        self._clock: Clock = SystemClock()
        self._parts = ExitStack()
        self._subscription: Subscription | None = None
        self._draining = False

    def open(self) -> Self:
        """Open the log and stand at the consumer's place. `with` does it."""
        with ExitStack() as parts:
            reader = self.log.reader()
            parts.callback(reader.close)
            cursor = self.log.cursor(
                self.name, required=self._place.required, start=_start_after(self._place.start)
            )
            parts.callback(cursor.close)
            subscription = Subscription(
                reader, cursor, clock=self._clock, policy=self._policy, transform=self._transform
            )
            parts.callback(subscription.close)
            if self._until_head:
                subscription.finish()
            self._parts = parts.pop_all()
        self._subscription = subscription
        return self

    def close(self) -> None:
        """Release the log; what was not acknowledged is delivered again. Safe to call twice."""
        self._subscription = None
        self._parts.close()

    def poll(self, timeout_s: float = POLL_S) -> Delivery | None:
        """The next delivery, or None if none came in time. `finished` says that none will come."""
        subscription = self.subscription
        if self._draining:
            self._draining = False
            subscription.finish()
        return subscription.poll(timeout_s)

    @property
    def finished(self) -> bool:
        """Whether everything that will be delivered was delivered."""
        return not self._draining and self.subscription.finished

    @property
    def acked(self) -> int:
        """The durable place: the last sequence number that is acknowledged without a hole."""
        return self.subscription.acked

    def drain(self) -> None:
        """Ask the iteration to end at what the log has by then. Safe in a signal handler."""
        self._draining = True

    @property
    def subscription(self) -> Subscription:
        """The engine beneath; raises where the consumer is not open."""
        if self._subscription is None:
            raise StateError(
                "not-open", "the consumer is not open", hint="use it in a with statement"
            )
        return self._subscription

    def status(self) -> dict[str, Any]:
        """The log's bounds and every consumer's lag, as plain values."""
        return self.status_with(None)

    def status_with(self, capture: CaptureLoop | None) -> dict[str, Any]:
        """The same, with the state and health of the capture loop that feeds the log."""
        reader = self.log.reader()
        try:
            return snapshot(reader, self._cursors(), clock=self._clock, capture=capture)
        finally:
            reader.close()

    def _cursors(self) -> list[CursorFacts]:
        if isinstance(self.log, SqliteLog):
            cursors = self.log.info().cursors
            return [CursorFacts(each.name, each.acked, each.updated_at_ms) for each in cursors]
        return [CursorFacts(self.name, self.subscription.acked, self._clock.now_ms())]


def _start_after(start: Start) -> int:
    """The place before the first event; the log keeps it inside its bounds."""
    match start:
        case "earliest":
            return 0
        case "latest":
            return _LATEST
        case int():
            return max(start - 1, 0)
