"""The admin snapshot: everything worth showing, as one plain dict of JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.contract import Clock, LogReader, Metrics
from headwater.errors import HeadwaterError
from headwater.runtime.capture import CaptureLoop
from headwater.runtime.health import Facts, verdict
from headwater.runtime.lifecycle import State


@dataclass(frozen=True, slots=True)
class CursorFacts:
    """A consumer's place, and when it last moved."""

    name: str
    acked: int
    updated_at_ms: int


def snapshot(
    reader: LogReader,
    cursors: Iterable[CursorFacts],
    *,
    clock: Clock,
    capture: CaptureLoop | None = None,
    metrics: Metrics | None = None,
) -> dict[str, Any]:
    """State, head, lag per cursor, rate, health. Without `capture`, of the log alone.

    Errors appear as their code: a message may quote data (INV-12).
    """
    bounds = reader.bounds()
    lags = measured(reader, cursors, clock, metrics)
    return {
        "log": {"tail": bounds.tail, "head": bounds.head},
        "cursors": lags,
        "capture": None if capture is None else _capture(capture, clock),
        "health": None if capture is None else _health(capture, clock, lags),
    }


def measured(
    reader: LogReader, cursors: Iterable[CursorFacts], clock: Clock, metrics: Metrics | None
) -> dict[str, dict[str, Any]]:
    """How far every cursor is behind by now, told to the metrics too."""
    now_ms = clock.now_ms()
    lags = {each.name: _lag(reader, each, now_ms) for each in cursors}
    if metrics is not None:
        for name, lag in lags.items():
            metrics.gauge("headwater_cursor_lag_events", lag["lag_events"], consumer=name)
            metrics.gauge("headwater_cursor_lag_bytes", lag["lag_bytes"], consumer=name)
            metrics.gauge("headwater_cursor_lag_seconds", lag["lag_s"], consumer=name)
    return lags


def _lag(reader: LogReader, cursor: CursorFacts, now_ms: int) -> dict[str, Any]:
    """A consumer is as late as its oldest waiting event, but one that works on is not stuck.

    `ack_age_s` is the shorter of that age and the time since its place last moved.
    """
    lag = reader.lag(cursor.acked, now_ms)
    moved_s = round(max(now_ms - cursor.updated_at_ms, 0) / 1000, 3)
    return {
        "acked": cursor.acked,
        "lag_events": lag.events,
        "lag_bytes": lag.bytes,
        "lag_s": lag.seconds,
        "ack_age_s": min(lag.seconds, moved_s),
    }


def _capture(capture: CaptureLoop, clock: Clock) -> dict[str, Any]:
    facts, now_s = capture.facts, clock.monotonic_s()
    return {
        "state": capture.state.value,
        "phase": None if facts.phase is None else facts.phase.value,
        "head": facts.head,
        "position": None if facts.position is None else facts.position.encode(),
        "position_age_s": round(now_s - facts.last_contact_s, 3),
        "last_event_age_s": _age(facts.last_event_s, now_s),
        "uptime_s": round(now_s - facts.started_s, 3),
        "events_total": capture.rate.total,
        "events_per_s": round(capture.rate.per_second(), 1),
        "caught_up": facts.caught_up_head is not None,
        "retrying": facts.retrying,
        "last_error": _error_code(capture),
        "snapshot": {
            name: {"rows_done": p.rows_done, "rows_total": p.rows_total, "done": p.done}
            for name, p in tuple(facts.snapshot.items())  # capture adds to it meanwhile
        },
        "load": _load(capture),
    }


def _load(capture: CaptureLoop) -> dict[str, Any] | None:
    """How far the reading of existing rows is, while it goes on."""
    progress = capture.facts.progress
    if capture.state is not State.SNAPSHOTTING or progress is None:
        return None
    rate, left = capture.rate.per_second(), progress.rows_left
    return {
        "table": progress.table,
        "rows_done": progress.rows_done,
        "rows_total": progress.rows_total,
        "rows_left": left,
        "eta_s": None if left is None or not rate else round(left / rate),
    }


def _health(
    capture: CaptureLoop, clock: Clock, lags: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    facts, now_s = capture.facts, clock.monotonic_s()
    code = _error_code(capture) if capture.state is State.FAILED or facts.retrying else None
    judged = verdict(
        Facts(
            state=capture.state,
            contact_age_s=now_s - facts.last_contact_s,
            event_age_s=_age(facts.last_event_s, now_s),
            lag_events=max((lag["lag_events"] for lag in lags.values()), default=0),
            ack_age_s=max((lag["ack_age_s"] for lag in lags.values()), default=0.0),
            error_code=code or "",
            retrying=facts.retrying,
        )
    )
    return {"status": judged.status.value, "reason": judged.reason, "remedy": judged.remedy}


def _error_code(capture: CaptureLoop) -> str | None:
    error = capture.error or capture.facts.last_error
    if error is None:
        return None
    return error.code if isinstance(error, HeadwaterError) else type(error).__name__


def _age(at_s: float | None, now_s: float) -> float | None:
    return None if at_s is None else round(now_s - at_s, 3)
