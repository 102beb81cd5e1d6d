"""A configuration as running parts: capture, consumers, retention, and one way to end.

Every part runs in a thread of its own. The supervisor watches them: when one fails, the others are
drained and the failure is raised. Draining has an order: capture first, then the consumers, so that
everything captured is delivered before the process ends.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from headwater.app.cdc import CdcPlan
from headwater.app.config import Config
from headwater.app.consumers import Consumer, sink_consumer
from headwater.app.options import source_options
from headwater.app.registry import open_log, open_source
from headwater.app.source_tables import source_facts
from headwater.app.spark.loop import SessionFactory, SparkLoop, spark_loop
from headwater.app.status import Readiness
from headwater.app.tables import require_names
from headwater.errors import HeadwaterError, TransientError
from headwater.log import RetentionPolicy, RetentionReport, SqliteLog
from headwater.observe import PrometheusMetrics, SystemClock, configure_logs
from headwater.runtime import (
    CaptureLoop,
    CapturePolicy,
    CursorFacts,
    State,
    measured,
    snapshot,
    two_step_stop,
)

if TYPE_CHECKING:
    from headwater.contract import Clock

_TICK_S = 0.2
_RETENTION_EVERY_S = 60.0
_JOIN_S = 10.0


class Pipeline:
    """Implements StatusView. `run` blocks; `drain` and `stop` only ask, from any thread."""

    def __init__(
        self,
        config: Config,
        *,
        clock: Clock | None = None,
        session: SessionFactory | None = None,
    ) -> None:
        self.config = config
        self._session = session
        self._cdc = CdcPlan.of(config.cdc)
        self.metrics = PrometheusMetrics()
        self.log: SqliteLog = open_log(config.log.path)
        self._clock = clock or SystemClock()
        self._drain_asked = threading.Event()
        self._stop_asked = threading.Event()
        self._capture = CaptureLoop(
            open_source(config.source.url, source_options(config)),
            self.log,
            clock=self._clock,
            metrics=self.metrics,
            policy=CapturePolicy(),
        )
        self._consumers: list[Consumer] = []
        self._spark: SparkLoop | None = None
        self._retained: RetentionReport | None = None
        self._seen: set[str] = set()
        self._next_retention_s = 0.0

    def run(self, *, once: bool = False, on_tick: Callable[[Pipeline], None] | None = None) -> None:
        """Run until asked to end, or with `once` until everything committed now is delivered."""
        spark = self.config.spark
        once = once or (spark is not None and spark.trigger == "available_now")
        self._require_tables(patient=not once)
        SqliteLog.create(self.config.log.path)
        with ExitStack() as parts:
            self._consumers = self._make_consumers(parts, once=once)
            self._capture.start()
            for consumer in self._consumers:
                consumer.start()
            parts.callback(self._stop_all)
            self._supervise(once=once, on_tick=on_tick or (lambda _pipeline: None))

    def _require_tables(self, *, patient: bool) -> None:
        """A misspelt table would otherwise be noticed when its changes are missed."""
        try:
            known = source_facts(self.config)
        except TransientError:
            if patient:
                return  # capture retries, and says what it waits for
            raise
        require_names(self.config.source.tables, known.capturable, "source.tables")
        self._cdc.require_known(known.tables)

    def drain(self) -> None:
        """Ask to finish what is in hand and end."""
        self._drain_asked.set()

    def stop(self) -> None:
        """Ask to end at once; what was not acknowledged is delivered again next time."""
        self._stop_asked.set()

    @contextmanager
    def process_setup(self, log_level: str | None = None) -> Iterator[None]:
        """What a process of its own needs: structured logs, and Ctrl-C as drain, then stop."""
        configure_logs(level=log_level or self.config.observability.log_level)
        with two_step_stop(self.drain, self.stop):
            yield

    @property
    def draining(self) -> bool:
        """Whether the end was asked for."""
        return self._drain_asked.is_set() or self._stop_asked.is_set()

    def _make_consumers(self, parts: ExitStack, *, once: bool) -> list[Consumer]:
        consumers: list[Consumer] = [
            sink_consumer(settings, self.log, self._clock, self.metrics, parts, self._cdc)
            for settings in self.config.sinks
        ]
        if self.config.spark is not None:
            consumers.append(self._spark_loop(once=once))
        return consumers

    def _spark_loop(self, *, once: bool) -> SparkLoop:
        self._spark = spark_loop(self.config, self._clock, self.metrics, self._session, once=once)
        return self._spark

    def _supervise(self, *, once: bool, on_tick: Callable[[Pipeline], None]) -> None:
        caught_up = False
        while not self._stop_asked.is_set():
            on_tick(self)
            self._retain()
            caught_up = once and self._capture.facts.caught_up_head is not None
            if caught_up or self._drain_asked.is_set() or self._any_ended():
                break
            self._stop_asked.wait(_TICK_S)
        self._finish(on_tick)

    def _finish(self, on_tick: Callable[[Pipeline], None]) -> None:
        """Capture ends first; then each consumer delivers up to the head and ends."""
        self._drain_asked.set()
        self._capture.drain()
        self._await([self._capture], on_tick)
        for consumer in self._consumers:
            consumer.drain()
        self._await(self._consumers, on_tick)
        self._stop_all()
        self._join_all()

    def _join_all(self) -> None:
        """Wait for every part before raising what the first one failed with."""
        failures: list[BaseException] = []
        for part in self._parts():
            try:
                part.join(_JOIN_S)
            except BaseException as exc:  # noqa: BLE001 - raised below, when nobody runs any more
                failures.append(exc)
        if failures:
            raise failures[0]

    def _await(self, parts: list[Any], on_tick: Callable[[Pipeline], None]) -> None:
        while not self._stop_asked.is_set() and not all(_ended(part) for part in parts):
            on_tick(self)
            self._stop_asked.wait(_TICK_S)

    def _stop_all(self) -> None:
        for part in self._parts():
            part.stop()

    def _any_ended(self) -> bool:
        return any(_ended(part) for part in self._parts())

    def _parts(self) -> list[Any]:
        return [self._capture, *self._consumers]

    def _retain(self) -> None:
        """Retention is a housekeeping step of the supervisor; its failure is not capture's."""
        settings = self.config.log.retention
        if settings.max_age is None and settings.max_bytes is None:
            return
        now_s = self._clock.monotonic_s()
        if now_s < self._next_retention_s:
            return
        self._next_retention_s = now_s + _RETENTION_EVERY_S
        self._retained = self.log.retain(
            RetentionPolicy(
                None if settings.max_age is None else settings.max_age.ms,
                None if settings.max_bytes is None else settings.max_bytes.bytes,
            )
        )

    def status(self) -> dict[str, Any]:
        """The admin snapshot of this process."""
        with closing(self.log.reader()) as reader:
            facts = snapshot(
                reader,
                self._cursors(),
                clock=self._clock,
                capture=self._capture,
                metrics=self.metrics,
            )
        facts["tables"] = {} if self._spark is None else self._spark.tables()
        facts["name"] = self.config.name
        facts["source"] = str(self.config.source.url)
        facts["consumers"] = {each.name: each.state.value for each in self._consumers}
        return facts

    def _cursors(self) -> list[CursorFacts]:
        places = self.log.places()
        return [CursorFacts(each.name, each.acked, each.updated_at_ms) for each in places]

    def readiness(self) -> Readiness:
        """Ready while capture reads and no consumer has failed."""
        for part in self._parts():
            if part.state in {State.FAILED, State.STOPPED}:
                return Readiness(ready=False, reason=f"{part.name} is {part.state.value}")
        if self._capture.state in {State.IDLE, State.STARTING}:
            return Readiness(ready=False, reason="capture is starting")
        return Readiness(ready=True)

    def metrics_text(self) -> str:
        """Prometheus text; a lag grows while nothing happens, so it is measured for each."""
        with suppress(HeadwaterError):  # the other metrics are told without a log, too
            self._measure()
        return self.metrics.render()

    def _measure(self) -> None:
        cursors = self._cursors()
        # A cursor that is gone lags no more, as that of a table which is parked no longer.
        at_head = [CursorFacts(name, sys.maxsize, 0) for name in self._seen]
        self._seen = {each.name for each in cursors}
        gone = [each for each in at_head if each.name not in self._seen]
        with closing(self.log.reader()) as reader:
            measured(reader, [*cursors, *gone], self._clock, self.metrics)
        if self._spark is not None:
            self._spark.measure()


def _ended(part: Any) -> bool:
    return part.state in {State.FAILED, State.STOPPED}
