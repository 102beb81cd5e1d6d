"""The running stream: from the log through an `Apply`, with errors that keep their code."""

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
from headwater.spark.progress import Hears, Progress
from headwater.spark.source.datasource import NAME
from headwater.spark.source.limits import offset_of

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
        self, query: StreamingQuery, failed: list[BaseException], ended: Callable[[], None]
    ) -> None:
        self._query = query
        self._failed = failed
        self._at_end = [ended]

    def at_end(self, call: Callable[[], None]) -> None:
        """Have `call` done once, when the query is known to have ended."""
        self._at_end.append(call)

    @property
    def active(self) -> bool:
        """Whether it still runs."""
        return self._query.isActive

    @property
    def sequence(self) -> int:
        """The end of the last finished micro-batch, 0 before the first."""
        progress = self._query.lastProgress
        if not progress:
            return 0
        return int(offset_of(progress["sources"][0]["endOffset"])["sequence"])

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


def start(
    session: SparkSession, plan: StreamPlan, apply: Apply, hears: Hears = lambda _report: None
) -> RunningStream:
    """Start the stream: once through everything if there is no interval, else for ever.

    `hears` is told of every micro-batch, in a thread of Spark's.
    """
    failed: list[BaseException] = []
    # Queries of one session need different names, and a listener knows its query by its name.
    name = f"headwater-{uuid4().hex[:8]}"
    progress = Progress(name, hears)
    session.streams.addListener(progress)
    reader = session.readStream.format(NAME).option("consumer", plan.consumer)
    if plan.max_events is not None:
        reader = reader.option("maxRowsPerTrigger", plan.max_events)
    if plan.partitions is not None:
        reader = reader.option("partitions", plan.partitions)
    if plan.attempt:
        reader = reader.option("attempt", plan.attempt)
    if plan.tables:
        reader = reader.option("tables", ",".join(plan.tables))
    writer = (
        reader.load(plan.log_path)
        .writeStream.queryName(name)
        .option("checkpointLocation", plan.checkpoint)
        .foreachBatch(keeping_errors(apply, failed))
    )
    if plan.interval_s is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{plan.interval_s} seconds")
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

    return RunningStream(query, failed, ended)
