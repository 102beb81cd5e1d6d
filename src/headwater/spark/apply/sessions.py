"""Sessions of our own: a commit carries its position by a setting, which no other write may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue

from pyspark.sql import DataFrame, SparkSession


class Sessions:
    """Isolated sessions, each in one hand at a time; made when needed, kept for the next batch."""

    def __init__(self) -> None:
        self._idle: SimpleQueue[SparkSession] = SimpleQueue()

    @contextmanager
    def one(self, beside: SparkSession) -> Iterator[SparkSession]:
        """A session with the settings and tables of its own, in the application of `beside`."""
        try:
            session = self._idle.get_nowait()
        except Empty:
            session = beside.newSession()
            session.conf.set("spark.sql.session.timeZone", "UTC")
        try:
            yield session
        finally:
            self._idle.put(session)


@contextmanager
def shared(frame: DataFrame, name: str) -> Iterator[str]:
    """The frame under a name that every session of the application knows."""
    frame.createGlobalTempView(name)
    try:
        yield f"global_temp.{name}"
    finally:
        frame.sparkSession.catalog.dropGlobalTempView(name)
