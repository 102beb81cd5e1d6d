from __future__ import annotations

import pytest

from headwater.contract import Phase, SourceBatch
from headwater.deliver import RetryPolicy
from headwater.errors import DataError, GapError, HeadwaterError, MachineError, TransientError
from headwater.event import EventBatch, Position
from headwater.runtime.capture import CaptureLoop, CapturePolicy
from headwater.runtime.lifecycle import State
from headwater.testing.clock import FakeClock
from headwater.testing.script import (
    CRASH,
    Endless,
    Fail,
    Filtered,
    Idle,
    ScriptedCrash,
    Step,
    gap,
    rows,
)
from headwater.testing.scripted import MemoryLog, MemoryMetrics, ScriptedSource


def _loop(
    source: ScriptedSource, log: MemoryLog, *, max_events: int = 100, retries: int | None = 5
) -> CaptureLoop:
    policy = CapturePolicy(
        max_events=max_events,
        retry=RetryPolicy(max_retries=retries, base_s=1.0, random_unit=lambda: 1.0),
    )
    loop = CaptureLoop(source, log, clock=FakeClock(), metrics=MemoryMetrics(), policy=policy)
    source.on_end = loop.drain
    return loop


def _capture(steps: list[Step], log: MemoryLog, **options: int) -> CaptureLoop:
    loop = _loop(ScriptedSource(steps), log, **options)
    loop.run()
    return loop


def _keys(log: MemoryLog) -> list[int]:
    return [(event.after or {})["id"] for event in log.events()]


def test_capture_passes_through_snapshot_and_stream_when_both_are_scripted() -> None:
    log = MemoryLog()
    loop = _loop(ScriptedSource([rows(1, 2, phase=Phase.SNAPSHOT), rows(3), Idle()]), log)
    seen: list[State] = []
    loop.lifecycle._on_change = lambda _, after: seen.append(after)
    loop.run()
    assert seen == [
        State.STARTING,
        State.SNAPSHOTTING,
        State.STREAMING,
        State.DRAINING,
        State.STOPPED,
    ]
    assert _keys(log) == [1, 2, 3]


def test_capture_confirms_only_what_the_log_holds_when_batches_are_appended() -> None:
    """INV-2."""
    log = MemoryLog()
    confirmed_with_log: list[tuple[Position, Position | None]] = []

    class Watching(ScriptedSource):
        def confirm(self, position: Position) -> None:
            confirmed_with_log.append((position, log.position))
            super().confirm(position)

    _loop(Watching([rows(1, 2, 3), rows(4)]), log, max_events=2).run()
    assert confirmed_with_log == [(Position({"step": n}), Position({"step": n})) for n in (1, 2)]


def test_capture_moves_the_position_when_everything_was_filtered() -> None:
    log = MemoryLog()
    loop = _capture([rows(1), Filtered(), Filtered()], log)
    assert log.position == Position({"step": 3})
    assert loop.facts.position == Position({"step": 3})
    assert _keys(log) == [1]


def test_capture_is_in_contact_when_the_source_answers_that_nothing_happened() -> None:
    """Idle is not stalled: an answer without changes is an answer."""
    clock = FakeClock()

    class Patient(ScriptedSource):
        def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
            clock.advance(60.0)
            return super().read(max_events, timeout_s)

    source = Patient([rows(1), Idle(5)])
    loop = CaptureLoop(source, MemoryLog(), clock=clock, metrics=MemoryMetrics())
    source.on_end = loop.drain
    loop.run()
    assert loop.facts.last_contact_s == clock.monotonic_s()


def test_capture_resumes_at_the_durable_position_when_it_starts_again() -> None:
    """INV-3."""
    log = MemoryLog()
    source = ScriptedSource([rows(1), rows(2), CRASH, rows(3)])
    with pytest.raises(ScriptedCrash):
        _loop(source, log).run()
    again = ScriptedSource(source.script)
    _loop(again, log).run()
    assert again.opened == [Position({"step": 2})]
    assert again.confirmed[0] == Position({"step": 2})
    assert _keys(log) == [1, 2, 3]


def test_capture_opens_source_and_log_again_when_a_read_fails_inside_a_transaction() -> None:
    log = MemoryLog()
    source = ScriptedSource([rows(1), rows(2, 3, 4, 5)])
    reads = 0

    class Flaky(ScriptedSource):
        def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
            nonlocal reads
            reads += 1
            if reads == 3:
                raise TransientError("source-busy", "in the middle of the second transaction")
            return super().read(max_events, timeout_s)

    flaky = Flaky(source.script)
    loop = _loop(flaky, log, max_events=2)
    loop.run()
    assert _keys(log) == [1, 2, 3, 4, 5]
    assert flaky.opened == [None, Position({"step": 1})]
    assert loop.state is State.STOPPED


def test_capture_waits_longer_when_failures_repeat_and_anew_after_success() -> None:
    log = MemoryLog()
    clock = FakeClock()
    fail = Fail(TransientError("source-busy", "scripted"))
    source = ScriptedSource([fail, fail, rows(1), fail])
    policy = CapturePolicy(retry=RetryPolicy(base_s=1.0, random_unit=lambda: 1.0))
    loop = CaptureLoop(source, log, clock=clock, metrics=MemoryMetrics(), policy=policy)
    source.on_end = loop.drain
    loop.run()
    assert sum(clock.sleeps) == pytest.approx(1.0 + 2.0 + 1.0)
    assert _keys(log) == [1]


def test_capture_fails_with_the_last_error_as_cause_when_retries_are_used_up() -> None:
    fail = Fail(TransientError("source-busy", "scripted"))
    loop = _loop(ScriptedSource([fail] * 9), MemoryLog(), retries=2)
    with pytest.raises(MachineError) as caught:
        loop.run()
    assert caught.value.code == "retries-exhausted"
    assert isinstance(caught.value.__cause__, TransientError)
    assert loop.state is State.FAILED


def test_capture_stops_at_once_when_changes_are_missing() -> None:
    """INV-9."""
    log = MemoryLog()
    loop = _loop(ScriptedSource([rows(1), gap(), rows(2)]), log)
    with pytest.raises(GapError):
        loop.run()
    assert _keys(log) == [1]
    assert loop.state is State.FAILED
    assert loop.error is not None


def test_capture_stops_and_keeps_nothing_when_an_event_is_invalid() -> None:
    log = MemoryLog()

    class Broken(ScriptedSource):
        def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
            batch = super().read(max_events, timeout_s)
            if batch is None or batch.position == Position({"step": 1}):
                return batch
            records = batch.events.records
            bad = records.set_column(
                2, records.schema.field(2), records["op"].fill_null(0).cast("int8")
            )
            columns = {name: bad[name] for name in bad.schema.names} | {"ts_ms": 0}
            return SourceBatch(EventBatch.from_columns(columns), batch.position)

    loop = _loop(Broken([rows(1), rows(2), rows(3)]), log)
    with pytest.raises(DataError):
        loop.run()
    assert _keys(log) == [1]
    assert log.position == Position({"step": 1})


def test_capture_shows_nothing_and_ends_when_a_transaction_never_closes() -> None:
    log = MemoryLog()
    source = ScriptedSource([rows(1), Endless(piece=10)])
    clock = FakeClock()
    policy = CapturePolicy(drain_timeout_s=5.0)
    loop = CaptureLoop(source, log, clock=clock, metrics=MemoryMetrics(), policy=policy)
    reads = 0
    read = source.read

    def read_and_pass_time(max_events: int, timeout_s: float) -> SourceBatch | None:
        nonlocal reads
        reads += 1
        clock.advance(1.0)
        if reads == 10:
            loop.drain()
        return read(max_events, timeout_s)

    source.read = read_and_pass_time  # type: ignore[method-assign]
    loop.run()
    assert _keys(log) == [1]
    assert log.position == Position({"step": 1})
    assert loop.state is State.STOPPED
    assert reads <= 16


def test_capture_knows_that_it_caught_up_when_a_read_finds_nothing() -> None:
    log = MemoryLog()
    loop = _capture([rows(1), rows(2)], log)
    assert loop.facts.caught_up_head == 2


def test_capture_ends_at_once_when_stopped_while_waiting_to_retry() -> None:
    clock = FakeClock()
    source = ScriptedSource([Fail(TransientError("source-busy", "scripted"))])
    policy = CapturePolicy(retry=RetryPolicy(base_s=1000, cap_s=1000, random_unit=lambda: 1.0))
    loop = CaptureLoop(source, MemoryLog(), clock=clock, metrics=MemoryMetrics(), policy=policy)
    sleep = clock.sleep

    def sleep_and_stop(seconds: float) -> None:
        sleep(seconds)
        loop.stop()

    clock.sleep = sleep_and_stop  # type: ignore[method-assign]
    loop.run()
    assert loop.state is State.STOPPED
    assert sum(clock.sleeps) < 1


def test_capture_keeps_the_error_for_join_when_it_runs_in_a_thread() -> None:
    loop = _loop(ScriptedSource([gap()]), MemoryLog())
    loop.start()
    with pytest.raises(GapError):
        loop.join(10)
    with pytest.raises(HeadwaterError):
        loop.run()


def test_capture_counts_events_by_phase_when_metrics_are_given() -> None:
    metrics = MemoryMetrics()
    source = ScriptedSource([rows(1, 2), rows(3)])
    loop = CaptureLoop(source, MemoryLog(), clock=FakeClock(), metrics=metrics)
    source.on_end = loop.drain
    loop.run()
    assert metrics.counters["headwater_capture_events_total"] == 3
    assert metrics.gauges["headwater_log_head"] == 3


def test_capture_shows_what_the_source_says_of_itself() -> None:
    class Slotted(ScriptedSource):
        def gauges(self) -> dict[str, float]:
            return {"slot_retained_bytes": 42.0}

    source = Slotted([rows(1)])
    metrics = MemoryMetrics()
    loop = CaptureLoop(source, MemoryLog(), clock=FakeClock(), metrics=metrics)
    source.on_end = loop.drain
    loop.run()
    assert metrics.gauges["headwater_source_gauge"] == 42.0
