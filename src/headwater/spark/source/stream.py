"""The log as a stream of micro-batches.

Offsets are sequence numbers, and a read of (start, end] gives the same rows for ever, which is what
a restart from Spark's checkpoint relies on. A micro-batch always ends where a transaction ends.
Spark calls commit(end) when it plans the next batch; then the consumer's cursor moves (INV-1).

Spark writes down where a micro-batch ends, but not where the first one began: after a crash in it,
it asks for the beginning again, and `latest` would then be a later place. So every offset carries
the number that the query began with, and a repeated first batch begins there.
The end of a table's load may have no event of its own: it moves the offset, and the batch is empty.
So does an attempt: when a stream starts, parked tables are tried again, also on a quiet log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from headwater.errors import GapError
from headwater.failpoint import failpoint
from headwater.spark.source.admission import Admission
from headwater.spark.source.limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from headwater.spark.source.options import Options
from headwater.spark.source.place import EARLIEST, sequence_at
from headwater.spark.source.ranges import LogOpener, RangeReader


class LogStreamReader(RangeReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the log. Lives on the driver's side; only `read` runs in the workers."""

    def __init__(self, opener: LogOpener, options: Options) -> None:
        super().__init__(opener, options.for_stream())
        self._stop_at: int | None = None
        self._origin: int | None = None
        self._feed = opener.feed(options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a new query begins: at the consumer's cursor, else as asked, else at the tail.

        A consumer that is new is made there, so that it begins nowhere else later.
        """
        self._fed()
        with closing(self._opener.reader(self._path)) as reader:
            consumer = self._options.consumer
            sequence = self._opener.acked(self._path, consumer) if consumer else None
            if sequence is None:
                sequence = sequence_at(reader, self._options.start or EARLIEST)
            if consumer:
                self._opener.cursor(self._path, consumer, sequence).close()
            self._origin = sequence
            return {
                "sequence": sequence,
                "log": reader.log_id,
                "origin": sequence,
                "loads": 0,
            }

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end: what is visible now is what this run will read."""
        if self._feed is not None:
            self._feed.catch_up(handover=True)
        self._stop_at = self._head()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """That the options limit the read: Spark takes one limit, and only hands it back."""
        if self._options.max_rows is not None:
            return ReadMaxRows(self._options.max_rows)
        if self._options.max_bytes is not None:
            return ReadMaxBytes(self._options.max_bytes)
        return ReadAllAvailable()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The head, from which Spark's progress tells the lag."""
        return {"sequence": self._head()}

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """The end of the next micro-batch: a transaction's end within the limit.

        Spark 4.1 says neither; then it is the newest one, and `partitions` meets the start.
        """
        self._fed()
        with closing(self._opener.reader(self._path)) as reader:
            if start is None:
                began = {} if self._origin is None else {"origin": self._origin}
                said = {"sequence": reader.bounds().head, "log": reader.log_id}
                return {**said, **began, "loads": reader.loads(), **self._attempt()}
            self._require_log(start, reader.log_id)
            begin = int(start["sequence"])
            head = reader.bounds().head if self._stop_at is None else self._stop_at
            end, admission = max(head, begin), self._admission(limit)
            if end > begin and not admission.unlimited:
                end = admission.end(reader.segments(begin, end), begin, end)
            return {**start, "sequence": end, "loads": reader.loads(), **self._attempt()}

    def _attempt(self) -> dict[str, Any]:
        return {"attempt": self._options.attempt} if self._options.attempt else {}

    def _admission(self, limit: ReadLimit | None) -> Admission:
        """What the options say, unless Spark asks for everything (`Trigger.Once` does)."""
        if isinstance(limit, ReadAllAvailable):
            return Admission()
        return Admission(self._options.max_rows, self._options.max_bytes)

    def _require_log(self, start: dict[str, Any], log_id: str) -> None:
        if start["log"] != log_id:
            raise GapError(
                "spark-other-log",
                "the checkpoint belongs to another log than the one at this path",
                where=self._path,
            )

    def _head(self) -> int:
        with closing(self._opener.reader(self._path)) as reader:
            return reader.bounds().head

    def _fed(self) -> None:
        if self._feed is not None:
            self._feed.run()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The ranges of a micro-batch's tasks."""
        self._require_log(start, end["log"])
        begin = start["sequence"]
        self._origin = end.get("origin")
        if self._origin is not None and start.get("origin") != self._origin:
            begin = self._origin
        return list(self._plan(int(begin), int(end["sequence"])))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        return self._rows(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """The batch is in Spark's commit log: the cursor may follow (INV-1)."""
        if not self._options.consumer:
            return
        failpoint("spark.source.before_commit")
        with closing(self._opener.cursor(self._path, self._options.consumer)) as cursor:
            if int(end["sequence"]) > cursor.acked:
                cursor.ack(int(end["sequence"]))

    def stop(self) -> None:
        """The query has ended: so does the capture that it began."""
        if self._feed is not None:
            self._feed.end()
