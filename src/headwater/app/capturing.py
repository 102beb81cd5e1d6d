"""Capture: a capture loop in the background and a consumer in front, as one thing to iterate."""

from __future__ import annotations

from contextlib import ExitStack, closing
from types import TracebackType
from typing import Any, Self

from headwater.app.consuming import Consumer
from headwater.app.deliveries import POLL_S, Deliveries
from headwater.contract import Commanded, Source, Verb, Wish
from headwater.errors import ConfigError, StateError
from headwater.log import SqliteLog
from headwater.observe import PrometheusMetrics, SystemClock
from headwater.runtime import CaptureLoop, CapturePolicy, Delivery

_GRACE_S = 15.0


class Capture(Deliveries):
    """A running capture. Made by `headwater.capture`; use it in a `with` statement.

    A first Ctrl-C leaves the `with` block and drains: the transaction in hand is finished and made
    durable. A second one, while draining, ends at once; nothing is lost by it either, unfinished
    work is done again next time.
    """

    def __init__(
        self,
        source: Source,
        consumer: Consumer,
        *,
        policy: CapturePolicy | None = None,
        until_head: bool = False,
    ) -> None:
        self.consumer = consumer
        self.metrics = PrometheusMetrics()
        self._source = source
        self._policy = policy
        self._until_head = until_head
        self._loop: CaptureLoop | None = None
        self._parts = ExitStack()
        self._raised = False
        self._draining = False

    def open(self) -> Self:
        """Open log and source and start capturing. `with` does it."""
        log = self.consumer.log
        if isinstance(log, SqliteLog):
            SqliteLog.create(log.path)
        with ExitStack() as parts:
            parts.enter_context(self.consumer)
            loop = CaptureLoop(
                self._source, log, clock=SystemClock(), metrics=self.metrics, policy=self._policy
            )
            parts.callback(self._end, loop)
            loop.start()
            self._parts = parts.pop_all()
        self._loop = loop
        return self

    def _end(self, loop: CaptureLoop) -> None:
        """Drain, within reason; an error that the iteration did not raise is raised here."""
        loop.drain()
        try:
            if not loop.join(_GRACE_S):
                loop.stop()
                loop.join(_GRACE_S)
        except BaseException as exc:
            loop.stop()
            if exc is not loop.error or not self._raised:
                self._raised = True
                raise

    def close(self) -> None:
        """Drain and release everything. Safe to call twice."""
        self._loop = None
        self._parts.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._raised = self._raised or error is not None
        super().__exit__(kind, error, trace)

    def poll(self, timeout_s: float = POLL_S) -> Delivery | None:
        """The next delivery, or None if none came in time; raises what ended capture."""
        loop = self.loop
        if loop.error is not None:
            self._raised = True
            raise loop.error
        self._set_end(loop)
        return self.consumer.poll(timeout_s)

    def _set_end(self, loop: CaptureLoop) -> None:
        """Where the iteration ends is known once capture has caught up, or has drained."""
        if self._until_head and loop.facts.caught_up_head is not None:
            self._until_head = False
            self.consumer.subscription.finish(loop.facts.caught_up_head)
        if self._draining and loop.lifecycle.ended:
            self._draining = False
            self.consumer.drain()

    @property
    def finished(self) -> bool:
        """Whether everything that will be delivered was delivered."""
        return not self._draining and self.consumer.finished

    @property
    def loop(self) -> CaptureLoop:
        """The engine beneath; raises where the capture is not open."""
        if self._loop is None:
            raise StateError(
                "not-open", "the capture is not open", hint="use it in a with statement"
            )
        return self._loop

    def drain(self) -> None:
        """Ask capture to stop; the iteration ends when what it captured is delivered.

        Safe from any thread and in a signal handler.
        """
        self._draining = True
        self.loop.drain()

    def backfill(
        self, table: str, *, where: str | None = None, rows_per_s: int | None = None
    ) -> int:
        """Ask that existing rows of a table be read once more, beside the stream.

        They come as `read` events. Returns the number of the request; `headwater backfill` steers
        it from outside.
        """
        log = self.consumer.log
        if not isinstance(log, Commanded):
            raise ConfigError("backfill-unsupported", "this log carries no commands")
        wish = Wish(verb=Verb.START, table=table, where=where, rows_per_s=rows_per_s)
        with closing(log.commands()) as commands:
            return commands.ask(wish)

    def status(self) -> dict[str, Any]:
        """State, head, lag, rate and health, as plain values: what `headwater status` shows."""
        return self.consumer.status_with(self.loop)
