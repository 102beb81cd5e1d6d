"""CaptureLoop: from the source into the log, and only then back to the source."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from headwater.contract import (
    Clock,
    Commanded,
    Log,
    LogWriter,
    Measured,
    Metrics,
    Phase,
    SnapshotProgress,
    Source,
    SourceBatch,
)
from headwater.deliver import Backoff, RetryPolicy
from headwater.errors import HeadwaterError
from headwater.event import Position, validate
from headwater.failpoint import failpoint
from headwater.runtime.lifecycle import State
from headwater.runtime.loop import Loop
from headwater.runtime.meter import Meter
from headwater.runtime.steering import Steering

_MEASURE_INTERVAL_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePolicy:
    """Sizes and times of capture."""

    max_events: int = 5_000
    read_timeout_s: float = 0.2
    drain_timeout_s: float = 10.0
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(slots=True)
class CaptureFacts:
    """What the loop knows about itself, for health and status. Times are the clock's monotonic."""

    started_s: float
    last_contact_s: float
    last_event_s: float | None = None
    head: int = 0
    position: Position | None = None
    phase: Phase | None = None
    caught_up_head: int | None = None
    retrying: bool = False
    last_error: HeadwaterError | None = None
    snapshot: dict[str, SnapshotProgress] = field(default_factory=dict)
    progress: SnapshotProgress | None = None


class CaptureLoop(Loop):
    """Reads, validates, appends durably, confirms: in this order, always (INV-2).

    After a failure that may pass, source and log writer are both opened anew and reading begins at
    the position that the log holds (INV-3). So nothing that was read and not kept is lost, and
    pieces of an unfinished transaction are cut off before they are sent again.
    """

    def __init__(
        self,
        source: Source,
        log: Log,
        *,
        clock: Clock,
        metrics: Metrics,
        policy: CapturePolicy | None = None,
    ) -> None:
        self._metrics = metrics
        self._source_name = ""
        super().__init__("capture", clock)
        self._source = source
        self._log = log
        self._policy = policy or CapturePolicy()
        self._backoff = Backoff(self._policy.retry)
        self._inside_transaction = False
        self._drain_until: float | None = None
        self._measure_at_s = 0.0
        now_s = clock.monotonic_s()
        self.facts = CaptureFacts(started_s=now_s, last_contact_s=now_s)
        self.rate = Meter(clock)

    def _state_changed(self, before: State, after: State) -> None:
        super()._state_changed(before, after)
        for state, value in ((before, 0), (after, 1)):
            self._metrics.gauge(
                "headwater_capture_state", value, source=self._source_name, state=state.value
            )

    def _work(self) -> None:
        while not self._may_end():
            try:
                self._session()
            except HeadwaterError as error:
                self._recover(error)

    def _recover(self, error: HeadwaterError) -> None:
        """Wait before the next session; an error that no waiting helps is raised."""
        self.facts.last_error = error
        delay_s = self._backoff.delay_s(error)
        self.facts.retrying = True
        if self.state not in (State.STARTING, State.DRAINING):
            self.lifecycle.to(State.STARTING)
        self._metrics.count(
            "headwater_capture_retries_total", source=self._source_name, code=error.code
        )
        self.log.warning(
            "opening the source again", extra={"code": error.code, "delay_s": round(delay_s, 3)}
        )
        self._pause(delay_s)

    def _session(self) -> None:
        """From opening to the end or the first failure."""
        identity = self._source.identity
        self._source_name = identity.name
        with ExitStack() as parts:
            writer = self._log.writer(identity)
            parts.callback(writer.close)
            parts.callback(self._source.close)
            self._inside_transaction = False
            self.facts.head, self.facts.position = writer.head, writer.position
            self._source.open(writer.position)
            if writer.position is not None:
                # A crash after an append may have left the source untold.
                self._source.confirm(writer.position)
            self._pump(writer, self._steering(parts))

    def _steering(self, parts: ExitStack) -> Steering | None:
        if not isinstance(self._log, Commanded):
            return None
        commands = self._log.commands()
        parts.callback(commands.close)
        return Steering(commands, self._source, self.clock, self.log)

    def _pump(self, writer: LogWriter, steering: Steering | None) -> None:
        while not self._may_end():
            self._measure()
            if steering is not None and not self._inside_transaction:
                steering.look(partial(self._keep, writer))
            batch = self._source.read(self._policy.max_events, self._read_timeout_s())
            failpoint("capture.after_read")
            # An answer without changes is an answer: idle is not stalled.
            self.facts.last_contact_s = self.clock.monotonic_s()
            if batch is None:
                self._idle(writer)
            else:
                self._keep(writer, batch)

    def _measure(self) -> None:
        now_s = self.clock.monotonic_s()
        if not isinstance(self._source, Measured) or now_s < self._measure_at_s:
            return
        self._measure_at_s = now_s + _MEASURE_INTERVAL_S
        for what, value in self._source.gauges().items():
            self._metrics.gauge(
                "headwater_source_gauge", value, source=self._source_name, what=what
            )

    def _read_timeout_s(self) -> float:
        """Do not wait for more until everything there was at the start has been read once."""
        return 0.0 if self.facts.caught_up_head is None else self._policy.read_timeout_s

    def _idle(self, writer: LogWriter) -> None:
        self._progressed()
        self._enter(State.STREAMING)
        self.facts.phase = Phase.STREAM
        if self.facts.caught_up_head is None:
            self.facts.caught_up_head = writer.head

    def _keep(self, writer: LogWriter, batch: SourceBatch) -> None:
        """One batch: durable first, confirmed second (INV-2)."""
        self._enter(State.SNAPSHOTTING if batch.phase is Phase.SNAPSHOT else State.STREAMING)
        validate(batch.events)
        failpoint("capture.before_append")
        began_s = self.clock.monotonic_s()
        head = writer.append(batch)
        took_s = self.clock.monotonic_s() - began_s
        failpoint("capture.after_append")
        self._inside_transaction = not batch.events.closes_transaction
        if not self._inside_transaction and writer.position is not None:
            # What the log says that it holds, not what the batch said: the log is the truth.
            self._source.confirm(writer.position)
            failpoint("capture.after_confirm")
        self._progressed()
        self._note(batch, writer, head, took_s)

    def _note(self, batch: SourceBatch, writer: LogWriter, head: int, took_s: float) -> None:
        facts, name, count = self.facts, self._source_name, len(batch.events)
        facts.head, facts.position, facts.phase = head, writer.position, batch.phase
        if batch.progress is not None:
            facts.snapshot[batch.progress.table] = facts.progress = batch.progress
        if count:
            facts.last_event_s = self.clock.monotonic_s()
        self.rate.add(count)
        self._metrics.count(
            "headwater_capture_events_total", count, source=name, phase=batch.phase.value
        )
        if not self._inside_transaction:
            self._metrics.count("headwater_capture_transactions_total", source=name)
        self._metrics.observe("headwater_capture_append_seconds", took_s, source=name)
        self._metrics.gauge("headwater_log_head", head, source=name)

    def _progressed(self) -> None:
        self._backoff.succeeded()
        self.facts.retrying = False

    def _enter(self, state: State) -> None:
        if self.state not in (state, State.DRAINING):
            self.lifecycle.to(state)

    def _may_end(self) -> bool:
        """Now if stopped; if draining, as soon as no transaction is open or patience ends."""
        if self._stopping.is_set():
            return True
        if not self._draining.is_set():
            return False
        now_s = self.clock.monotonic_s()
        if self._drain_until is None:
            self._drain_until = now_s + self._policy.drain_timeout_s
            self.lifecycle.to(State.DRAINING)
        return not self._inside_transaction or now_s >= self._drain_until
