"""`format("headwater")`: the log as a streaming and a batch source, read by every executor.

Offsets are sequence numbers, and a read of (start, end] gives the same rows for ever, which is what
a restart from Spark's checkpoint relies on. A micro-batch always ends where a transaction ends.
Spark calls commit(end) when it plans the next batch; then the consumer's cursor moves (INV-1).

Options: `path`, `consumer` (the cursor to move), `tables` (globs, separated by commas),
`startingSequence` (`earliest`, `latest` or a number; default: the cursor), `endingSequence` (batch
only), `maxEventsPerTrigger`, `partitions`. Spark hands their names over in lower case.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headwater.contract import Cursor, LogReader, SegmentInfo
from headwater.errors import ConfigError, GapError
from headwater.event import TableId
from headwater.failpoint import failpoint
from headwater.spark.frame import SPARK_DDL, to_spark

NAME = "headwater"


class LogOpener(Protocol):
    """How a worker reaches the log; picklable, so that executors can open it for themselves."""

    def reader(self, path: str) -> LogReader:
        """A reader of the log at `path`."""
        ...

    def cursor(self, path: str, name: str) -> Cursor:
        """A consumer's cursor in the log at `path`."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one read, checked."""

    path: str
    consumer: str
    tables: tuple[str, ...]
    starting: str
    ending: int | None
    max_events: int | None
    partitions: int

    @classmethod
    def parse(cls, given: dict[str, str]) -> Options:
        """Read Spark's option map; keys are in lower case there."""
        try:
            ending = given.get("endingsequence")
            limit = given.get("maxeventspertrigger")
            return cls(
                path=given["path"],
                consumer=given.get("consumer", ""),
                tables=tuple(filter(None, map(str.strip, given.get("tables", "").split(",")))),
                starting=given.get("startingsequence", ""),
                ending=None if ending is None else int(ending),
                max_events=None if limit is None else int(limit),
                partitions=int(given.get("partitions", "2")),
            )
        except KeyError as exc:
            raise ConfigError("spark-option", f"option {exc} is missing") from exc
        except ValueError as exc:
            raise ConfigError("spark-option", f"an option has a wrong value: {exc}") from exc


@dataclass
class Range(InputPartition):
    """One task's share: events in (after, until]."""

    after: int
    until: int


class LogDataSource(DataSource):
    """The data source; a subclass binds `opener` to a kind of log."""

    opener: LogOpener

    @classmethod
    def name(cls) -> str:
        """The word in `format(…)`."""
        return NAME

    def schema(self) -> str:
        """The canonical event; see frame.py."""
        return SPARK_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read of a range."""
        del schema
        return LogBatchReader(self.opener, Options.parse(dict(self.options)))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """A stream from an offset on."""
        del schema
        return LogStreamReader(self.opener, Options.parse(dict(self.options)))


class _RangeReader:
    """What both readers share: planning ranges and reading one."""

    def __init__(self, opener: LogOpener, options: Options) -> None:
        self._opener = opener
        self._options = options

    def _plan(self, after: int, until: int) -> list[Range]:
        if until <= after:
            return []
        with closing(self._opener.reader(self._options.path)) as reader:
            runs = reader.segments(after, until)
        return _share(runs, after, until, self._options.partitions)

    def _rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Range):  # Spark's stand-in for "nothing to read"
            return
        with closing(self._opener.reader(self._options.path)) as reader:
            for batch in reader.read(partition.after, partition.until):
                rows = to_spark(batch)
                yield rows if not self._options.tables else self._chosen(rows)

    def _chosen(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Globs are tried once per table in the batch, not once per row."""
        schema, table = rows.column("schema"), rows.column("table")
        full = pc.binary_join_element_wise(pc.fill_null(schema, ""), table, ".")
        wanted = [name for name in full.unique().to_pylist() if self._wants(name)]
        return rows.filter(pc.is_in(full, pa.array(wanted, pa.string())))

    def _wants(self, full: str) -> bool:
        schema, _, name = full.partition(".")
        return TableId(schema or None, name).matches(self._options.tables)


def _share(runs: tuple[SegmentInfo, ...], after: int, until: int, parts: int) -> list[Range]:
    """Cut at stored batches, so that no two tasks decode the same one."""
    total = sum(run.bytes for run in runs)
    ranges: list[Range] = []
    start, size = after, 0
    for run in runs:
        size += run.bytes
        if size * parts >= total * (len(ranges) + 1) and min(run.last_sequence, until) > start:
            ranges.append(Range(start, min(run.last_sequence, until)))
            start = ranges[-1].until
    if start < until:
        ranges.append(Range(start, until))
    return ranges


class LogBatchReader(_RangeReader, DataSourceReader):
    """Reads a fixed range once."""

    def partitions(self) -> list[InputPartition]:
        """The ranges of the tasks."""
        with closing(self._opener.reader(self._options.path)) as reader:
            bounds = reader.bounds()
        starting = self._options.starting
        after = int(starting) if starting.isdigit() else bounds.tail - 1
        until = bounds.head if self._options.ending is None else self._options.ending
        return list(self._plan(max(after, 0), until))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        return self._rows(partition)


class LogStreamReader(_RangeReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
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

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next micro-batch: a transaction's end within the limit."""
        with closing(self._opener.reader(self._options.path)) as reader:
            if start["log"] != reader.log_id:
                raise GapError(
                    "spark-other-log",
                    "the checkpoint belongs to another log than the one at this path",
                    where=self._options.path,
                )
            begin = int(start["sequence"])
            head = reader.bounds().head if self._stop_at is None else self._stop_at
            end = max(head, begin)
            if isinstance(limit, ReadMaxRows) and end - begin > limit.max_rows:
                runs = reader.segments(begin, end)
                end = _border(runs, begin + limit.max_rows, end)
            return {"sequence": end, "log": start["log"]}

    def _head(self) -> int:
        with closing(self._opener.reader(self._options.path)) as reader:
            return reader.bounds().head

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The ranges of a micro-batch's tasks."""
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
