from __future__ import annotations

import json

from headwater.runtime.admin import CursorFacts, snapshot
from headwater.runtime.capture import CaptureLoop
from headwater.testing.builders import IDENTITY, TS_MS, inserts, source_batch
from headwater.testing.clock import FakeClock
from headwater.testing.script import Fail, ScriptedCrash, gap, rows
from headwater.testing.scripted import MemoryLog, MemoryMetrics, ScriptedSource


def _log() -> MemoryLog:
    log = MemoryLog()
    log.writer(IDENTITY).append(source_batch(inserts(1, 4), 4))
    return log


def test_snapshot_shows_no_lag_when_an_idle_consumer_has_everything() -> None:
    clock = FakeClock(TS_MS + 10_000_000)
    shown = snapshot(_log().reader(), [CursorFacts("c", 4, TS_MS)], clock=clock)
    assert shown["cursors"]["c"] == {
        "acked": 4,
        "lag_events": 0,
        "lag_bytes": 0,
        "lag_s": 0.0,
        "ack_age_s": 0.0,
    }


def test_snapshot_shows_the_age_of_the_oldest_waiting_event_when_a_consumer_lags() -> None:
    clock = FakeClock(TS_MS + 60_004)
    shown = snapshot(_log().reader(), [CursorFacts("c", 2, TS_MS + 55_004)], clock=clock)
    lag = shown["cursors"]["c"]
    assert (lag["lag_events"], lag["lag_s"], lag["ack_age_s"]) == (2, 60.0, 5.0)
    assert lag["lag_bytes"] > 0


def test_snapshot_is_plain_json_when_capture_ran() -> None:
    clock, log, metrics = FakeClock(), MemoryLog(), MemoryMetrics()
    source = ScriptedSource([rows(1, 2)])
    loop = CaptureLoop(source, log, clock=clock, metrics=metrics)
    source.on_end = loop.drain
    loop.run()
    cursors = [CursorFacts("c", 0, clock.now_ms())]
    shown = snapshot(log.reader(), cursors, clock=clock, capture=loop, metrics=metrics)
    assert json.loads(json.dumps(shown)) == shown
    assert shown["capture"]["state"] == "stopped"
    assert shown["capture"]["events_total"] == 2
    assert shown["health"]["status"] == "stopped"
    assert metrics.gauges["headwater_cursor_lag_events"] == 2
    assert metrics.gauges["headwater_cursor_lag_bytes"] == shown["cursors"]["c"]["lag_bytes"] > 0
    assert metrics.gauges["headwater_cursor_lag_seconds"] == shown["cursors"]["c"]["lag_s"]


def test_snapshot_shows_the_code_only_when_capture_failed() -> None:
    """INV-12: a message may quote data."""
    for step, code in ((gap(), "source-gap"), (Fail(ScriptedCrash("secret row")), "ScriptedCrash")):
        loop = CaptureLoop(
            ScriptedSource([step]), MemoryLog(), clock=FakeClock(), metrics=MemoryMetrics()
        )
        loop.start()
        loop._done.wait(5)
        shown = snapshot(MemoryLog().reader(), [], clock=FakeClock(), capture=loop)
        assert shown["capture"]["last_error"] == code
        assert shown["health"]["status"] == "failed"
        assert "secret row" not in json.dumps(shown)
