"""The log as a stream of micro-batches.

Offsets are sequence numbers, and a read of (start, end] gives the same rows for ever, which is what
a restart from Spark's checkpoint relies on. A micro-batch always ends where a transaction ends.
Spark calls commit(end) when it plans the next batch; then the consumer's cursor moves (INV-1).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from headwater.contract import SegmentInfo
from headwater.errors import GapError
from headwater.failpoint import failpoint
from headwater.spark.source.limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from headwater.spark.source.options import Options
from headwater.spark.source.ranges import LogOpener, RangeReader


class LogStreamReader(RangeReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the log. Lives on the driver's side; only `read` runs in the workers."""

    def __init__(self, opener: LogOpener, options: Options) -> None:
        super().__init__(opener, options)
        self._stop_at: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins: as asked, else at the consumer's cursor, else at the tail."""
        with closing(self._opener.reader(self._options.path)) as reader:
            bounds = reader.bounds()
            starting = self._options.starting
            if starting == "latest":
                sequence = bounds.head
            elif starting.isdigit():
                sequence = int(starting)
            elif starting == "earliest" or not self._options.consumer:
                sequence = bounds.tail - 1
            else:
                sequence = self._acked()
            return {"sequence": sequence, "log": reader.log_id}

    def _acked(self) -> int:
        with closing(self._opener.cursor(self._options.path, self._options.consumer)) as cursor:
            return cursor.acked

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end: what is visible now is what this run will read."""
        self._stop_at = self._head()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The admission that `maxEventsPerTrigger` asks for."""
        limit = self._options.max_events
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The head, from which Spark's progress tells the lag."""
        return {"sequence": self._head()}

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """The end of the next micro-batch: a transaction's end within the limit.

        Spark 4.1 says neither; then it is the newest one, and `partitions` meets the start.
        """
        with closing(self._opener.reader(self._options.path)) as reader:
            if start is None:
                return {"sequence": reader.bounds().head, "log": reader.log_id}
            self._require_log(start, reader.log_id)
            begin = int(start["sequence"])
            head = reader.bounds().head if self._stop_at is None else self._stop_at
            end = max(head, begin)
            if isinstance(limit, ReadMaxRows) and end - begin > limit.max_rows:
                runs = reader.segments(begin, end)
                end = _border(runs, begin + limit.max_rows, end)
            return {"sequence": end, "log": start["log"]}

    def _require_log(self, start: dict[str, Any], log_id: str) -> None:
        if start["log"] != log_id:
            raise GapError(
                "spark-other-log",
                "the checkpoint belongs to another log than the one at this path",
                where=self._options.path,
            )

    def _head(self) -> int:
        with closing(self._opener.reader(self._options.path)) as reader:
            return reader.bounds().head

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The ranges of a micro-batch's tasks."""
        self._require_log(start, end["log"])
        return list(self._plan(int(start["sequence"]), int(end["sequence"])))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        return self._rows(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """The batch is in Spark's commit log: the cursor may follow (INV-1)."""
        if not self._options.consumer:
            return
        failpoint("spark.source.before_commit")
        with closing(self._opener.cursor(self._options.path, self._options.consumer)) as cursor:
            if int(end["sequence"]) > cursor.acked:
                cursor.ack(int(end["sequence"]))

    def stop(self) -> None:
        """Nothing is held between calls."""


def _border(runs: tuple[SegmentInfo, ...], wanted: int, fallback: int) -> int:
    """The last closing run within the limit; a larger transaction is taken whole (INV-7)."""
    closing = [run.last_sequence for run in runs if run.closes_transaction]
    within = [sequence for sequence in closing if sequence <= wanted]
    if within:
        return within[-1]
    return closing[0] if closing else fallback
