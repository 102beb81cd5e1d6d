"""The running stream: from a source through an `Apply`, with errors that keep their code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headwater.errors import CATALOG, StateError
from headwater.spark.apply.tables import Apply
from headwater.spark.progress import Hears, Place, Progress
from headwater.spark.source.datasource import NAME
from headwater.spark.source.limits import sequence_of

_CODED = re.compile(r"\[([a-z0-9-]+)\] ([^\n]+)")


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """What to read, where Spark keeps its place, and when to run.

    Without `partitions` it has as many tasks as the session has cores, if a batch is worth them.
    A stream of a new `attempt` has a micro-batch even if the log has nothing new.
    """

    log_path: str
    checkpoint: str
    consumer: str
    tables: tuple[str, ...] = ()
    max_events: int | None = None
    partitions: int | None = None
    interval_s: float | None = None
    attempt: str = ""


class RunningStream:
    """A started query. `wait` returns when it ends and raises what ended it."""

    def __init__(
        self, query: StreamingQuery, failed: list[BaseException], place: Place = sequence_of
    ) -> None:
        self._query = query
        self._failed = failed
        self._place = place
        self._at_end: list[Callable[[], None]] = []

    def at_end(self, call: Callable[[], None]) -> None:
        """Have `call` done once, when the query is known to have ended."""
        self._at_end.append(call)

    @property
    def active(self) -> bool:
        """Whether it still runs."""
        return self._query.isActive

    @property
    def sequence(self) -> int:
        """The end of the last finished micro-batch, 0 before the first; of a topic its offset."""
        progress = self._query.lastProgress
        if progress is None:
            return 0
        return self._place(progress.sources[0].endOffset) or 0

    def drain(self) -> None:
        """Return when everything that is in the log now has been applied."""
        self._guarded(self._query.processAllAvailable)

    def wait(self, timeout_s: int | None = None) -> bool:
        """Whether the query has ended within the time."""
        ended = bool(self._guarded(lambda: self._query.awaitTermination(timeout_s)))
        if ended:
            self._ended()
        return ended

    def stop(self) -> None:
        """End the query after the batch in hand."""
        self._query.stop()
        self._ended()

    def _ended(self) -> None:
        while self._at_end:
            self._at_end.pop()()

    def _guarded(self, call: Callable[[], object]) -> object:
        try:
            return call()
        except PySparkException as exc:
            self._ended()
            raise self._cause(exc) from exc

    def _cause(self, exc: PySparkException) -> BaseException:
        """The coded error behind Spark's: kept by us, or written in the worker's message."""
        if self._failed:
            return self._failed[0]
        for code, message in _CODED.findall(str(exc)):
            if code in CATALOG:
                return StateError(code, message)
        return exc


def keeping_errors(apply: Apply, failed: list[BaseException]) -> Apply:
    """The same, with what it raises kept: Spark turns it into text on its way through the JVM."""

    def kept(frame: DataFrame, batch_id: int) -> None:
        try:
            apply(frame, batch_id)
        except BaseException as exc:
            failed.append(exc)
            raise

    return kept


@dataclass(frozen=True, slots=True)
class Pace:
    """Where Spark keeps the place of a stream, and when it runs: once if there is no interval."""

    checkpoint: str
    interval_s: float | None = None


def start(
    session: SparkSession, plan: StreamPlan, apply: Apply, hears: Hears = lambda _report: None
) -> RunningStream:
    """Start the stream of a log; `hears` is told of every micro-batch, in a thread of Spark's."""
    reader = session.readStream.format(NAME).option("consumer", plan.consumer)
    if plan.max_events is not None:
        reader = reader.option("maxRowsPerTrigger", plan.max_events)
    if plan.partitions is not None:
        reader = reader.option("partitions", plan.partitions)
    if plan.attempt:
        reader = reader.option("attempt", plan.attempt)
    if plan.tables:
        reader = reader.option("tables", ",".join(plan.tables))
    pace = Pace(plan.checkpoint, plan.interval_s)
    return follow(reader.load(plan.log_path), apply, pace, hears)


def follow(
    frame: DataFrame, apply: Apply, pace: Pace, hears: Hears, place: Place = sequence_of
) -> RunningStream:
    """Start a stream: once through everything that is there, or for ever.

    `place` says how far an offset of its source is.
    """
    session, failed = frame.sparkSession, list[BaseException]()
    # Queries of one session need different names, and a listener knows its query by its name.
    name = f"headwater-{uuid4().hex[:8]}"
    writer = frame.writeStream.queryName(name).option("checkpointLocation", pace.checkpoint)
    writer = writer.foreachBatch(keeping_errors(apply, failed))
    if pace.interval_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{pace.interval_s} seconds")
    progress = Progress(name, hears, place)
    session.streams.addListener(progress)
    try:
        query = writer.start()
    except BaseException:
        session.streams.removeListener(progress)
        raise

    def ended() -> None:
        last = query.lastProgress
        if last is not None:
            progress.tell(last)
        session.streams.removeListener(progress)

    stream = RunningStream(query, failed, place)
    stream.at_end(ended)
    return stream
