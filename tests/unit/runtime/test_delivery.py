from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwater.deliver import DeadLetters, RetryPolicy
from headwater.errors import DataError, MachineError, TransientError
from headwater.runtime.delivery import DeliveryLoop, DeliveryPolicy
from headwater.runtime.lifecycle import State
from headwater.runtime.subscription import Subscription, SubscriptionPolicy
from headwater.testing.builders import IDENTITY, inserts, source_batch
from headwater.testing.clock import FakeClock
from headwater.testing.scripted import FaultySink, MemoryLog, MemoryMetrics, MemorySink


def _log(events: int) -> MemoryLog:
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, events), events))
    writer.close()
    return log


def _loop(
    log: MemoryLog,
    sink: MemorySink,
    *,
    retries: int | None = 5,
    dead_letters: DeadLetters | None = None,
    max_pending: int = 1000,
) -> DeliveryLoop:
    clock = FakeClock()
    subscription = Subscription(
        log.reader(), log.cursor("c"), clock=clock, policy=SubscriptionPolicy(max_events=2)
    )
    loop = DeliveryLoop(
        subscription,
        sink,
        clock=clock,
        metrics=MemoryMetrics(),
        policy=DeliveryPolicy(
            max_pending_events=max_pending,
            retry=RetryPolicy(max_retries=retries, random_unit=lambda: 0.5),
        ),
        dead_letters=dead_letters,
    )
    loop.drain()
    return loop


def _busy() -> TransientError:
    return TransientError("log-busy", "scripted")


def test_delivery_writes_everything_up_to_the_head_when_drained() -> None:
    log, sink = _log(7), MemorySink()
    loop = _loop(log, sink)
    loop.run()
    assert sink.sequences() == list(range(1, 8))
    assert log.cursors["c"] == 7
    assert loop.state is State.STOPPED


def test_delivery_acks_at_once_when_the_sink_says_durable() -> None:
    log, sink = _log(4), MemorySink(durable=True)
    _loop(log, sink).run()
    assert sink.sequences() == [1, 2, 3, 4]
    assert log.cursors["c"] == 4


def test_delivery_flushes_before_the_end_when_the_window_is_full() -> None:
    log = _log(8)
    acked_at_flush: list[int] = []

    class Watching(MemorySink):
        def flush(self) -> None:
            acked_at_flush.append(log.cursors["c"])
            super().flush()

    _loop(log, Watching(), max_pending=4).run()
    assert acked_at_flush == [0, 4]


def test_delivery_writes_the_same_batch_again_when_a_write_may_work_later() -> None:
    log, sink = _log(4), FaultySink(writes=[None, _busy(), _busy(), None])
    _loop(log, sink).run()
    assert sink.sequences() == [1, 2, 3, 4]


def test_delivery_writes_everything_unflushed_again_when_a_flush_fails() -> None:
    log, sink = _log(6), FaultySink(flushes=[_busy(), _busy(), None])
    _loop(log, sink).run()
    assert sink.sequences() == [1, 2, 3, 4, 5, 6]
    assert sink.opens == 3
    assert log.cursors["c"] == 6


def test_delivery_fails_and_acks_nothing_when_retries_are_used_up() -> None:
    log, sink = _log(2), FaultySink(writes=[_busy()] * 10)
    loop = _loop(log, sink, retries=3)
    with pytest.raises(MachineError) as caught:
        loop.run()
    assert caught.value.code == "retries-exhausted"
    assert log.cursors["c"] == 0
    assert loop.state is State.FAILED


def test_delivery_stops_when_a_record_is_bad_and_there_are_no_dead_letters() -> None:
    log, sink = _log(4), FaultySink(poison=frozenset({3}))
    with pytest.raises(DataError):
        _loop(log, sink).run()
    assert log.cursors["c"] == 0


def test_delivery_sets_a_bad_record_aside_when_there_are_dead_letters(tmp_path: Path) -> None:
    log, sink = _log(8), FaultySink(poison=frozenset({3, 4, 7}))
    letters = DeadLetters(tmp_path / "dead.jsonl")
    _loop(log, sink, dead_letters=letters).run()
    assert sink.sequences() == [1, 2, 5, 6, 8]
    assert log.cursors["c"] == 8
    kept = [json.loads(line) for line in letters.path.read_text().splitlines()]
    assert [(each["sequence_number"], each["code"]) for each in kept] == [
        (3, "event-invalid"),
        (4, "event-invalid"),
        (7, "event-invalid"),
    ]
    assert kept[0]["event"]["after"] == {"id": 3, "name": "item 3"}


def test_delivery_ends_without_ack_when_stopped_while_trying_again() -> None:
    log, sink = _log(2), FaultySink(writes=[_busy()] * 3)
    loop = _loop(log, sink)
    loop._draining.clear()
    loop._pause = lambda seconds: loop.stop()  # type: ignore[method-assign]  # noqa: ARG005
    loop.run()
    assert loop.state is State.STOPPED
    assert log.cursors["c"] == 0
    assert sink.sequences() == []
