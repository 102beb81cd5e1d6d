"""What Spark says of a running stream after each micro-batch, as plain numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """One micro-batch: its end, its events, how long it took, and how many events wait."""

    sequence: int
    events: int
    seconds: float
    waiting: int


Hears = Callable[[BatchReport], None]


class Progress(StreamingQueryListener):
    """Tells of the micro-batches of one query; a session's listeners hear of every query."""

    def __init__(self, name: str, hears: Hears) -> None:
        self._name = name
        self._hears = hears
        self._told: tuple[int, int] | None = None
        self._lock = Lock()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's
        """Nothing has happened yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's
        """A micro-batch has ended, or Spark looked and found nothing new."""
        if event.progress.name == self._name:
            self.tell(event.progress)

    def tell(self, progress: StreamingQueryProgress) -> None:
        """Tell of a micro-batch, once: events come late, and the last may come after the end."""
        if not progress.sources:
            return
        source = progress.sources[0]
        end, latest = _sequence(source.endOffset), _sequence(source.latestOffset)
        with self._lock:
            if end is None or self._told == (progress.batchId, progress.numInputRows):
                return
            self._told = (progress.batchId, progress.numInputRows)
        seconds = (progress.durationMs or {}).get("triggerExecution", 0) / 1000
        self._hears(
            BatchReport(end, int(progress.numInputRows), seconds, max((latest or end) - end, 0))
        )

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's
        """RunningStream tells how it ended."""


def _sequence(offset: Any) -> int | None:
    """The sequence number of an offset as Spark shows it: JSON text, or nothing."""
    try:
        found = json.loads(offset)["sequence"] if isinstance(offset, str) else None
    except (ValueError, KeyError, TypeError):
        return None
    return None if found is None else int(found)
