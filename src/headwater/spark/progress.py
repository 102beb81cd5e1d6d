"""What Spark says of a running stream after each micro-batch, as plain numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

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
# What an offset comes to as a number, None if it says none.
Place = Callable[[str | None], int | None]


def record_of(offset: str | None) -> int | None:
    """How far an offset in a topic of one partition is, as Spark's connector shows it."""
    try:
        topics = {} if offset is None else json.loads(offset)
        places = [int(place) for topic in topics.values() for place in topic.values()]
        return sum(places) if places else None
    except (ValueError, AttributeError, TypeError):
        return None


class Progress(StreamingQueryListener):
    """Tells of the micro-batches of one query; a session's listeners hear of every query."""

    def __init__(self, name: str, hears: Hears, place: Place) -> None:
        self._name = name
        self._hears = hears
        self._place = place
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
        begin, end, latest = map(
            self._place, (source.startOffset, source.endOffset, source.latestOffset)
        )
        with self._lock:
            if end is None or self._told == (progress.batchId, progress.numInputRows):
                return
            self._told = (progress.batchId, progress.numInputRows)
        seconds = (progress.durationMs or {}).get("triggerExecution", 0) / 1000
        # Spark counts a row as often as it is read, and a batch may be read more than once.
        events = min(int(progress.numInputRows), end - (begin or 0))
        self._hears(BatchReport(end, events, seconds, max((latest or end) - end, 0)))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's
        """RunningStream tells how it ended."""
