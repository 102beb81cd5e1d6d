"""Ranges of a log as the tasks of a read: planned by stored batches, read by any executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from headwater.contract import Cursor, LogReader, SegmentInfo
from headwater.event import EventBatch, of_tables
from headwater.spark.source.filters import Pushed
from headwater.spark.source.options import Options
from headwater.spark.source.records import FormatOpener, rows_of


class LogOpener(Protocol):
    """How a worker reaches the log; picklable, so that executors can open it for themselves."""

    def path(self, options: Options) -> str:
        """Where the log of a read lies."""
        ...

    def feed(self, options: Options) -> Feed | None:
        """What fills the log of a read, if the read itself has to see to that."""
        ...

    def form(self, options: Options) -> FormatOpener | None:
        """The format that rows of a read are to have; None if they are to be events."""
        ...

    def reader(self, path: str) -> LogReader:
        """A reader of the log at `path`."""
        ...

    def acked(self, path: str, name: str) -> int | None:
        """The last sequence number that a consumer has acknowledged; None if there is no such."""
        ...

    def cursor(self, path: str, name: str, start: int = 0) -> Cursor:
        """A consumer's cursor in the log at `path`; made at `start` if it is new."""
        ...


class Feed(Protocol):
    """A capture that runs as long as whoever reads."""

    def run(self) -> None:
        """See that it runs; raises what ended it."""
        ...

    def catch_up(self, *, handover: bool) -> None:
        """Return when what the database had at the time of the call is in the log.

        Where another process captures into it, that one is trusted to; `handover` gives it a while
        to end first.
        """
        ...

    def end(self) -> None:
        """Finish the transaction in hand and let go of the log. Safe to call twice."""
        ...


@dataclass
class Range(InputPartition):
    """One task's share: the events of each (after, until]."""

    spans: list[tuple[int, int]]


class RangeReader:
    """What both readers share: planning ranges and reading one."""

    def __init__(self, opener: LogOpener, options: Options) -> None:
        self._opener = opener
        self._options = options
        self._path = opener.path(options)
        self._form = opener.form(options)
        self._pushed = Pushed()

    def _plan(self, after: int, until: int) -> list[Range]:
        after, until = self._pushed.bounds(after, until)
        if until <= after:
            return []
        with closing(self._opener.reader(self._path)) as reader:
            runs = reader.segments(after, until)
        spans = list(_spans(runs, self._pushed, after, until))
        size = sum(each for _, _, each in spans)
        return _share(spans, self._options.tasks.for_bytes(size))

    def _rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(self._batches(partition), self._form)

    def _batches(self, partition: InputPartition) -> Iterator[EventBatch]:
        """What a task reads, as it is stored."""
        if not isinstance(partition, Range):  # Spark's stand-in for "nothing to read"
            return
        with closing(self._opener.reader(self._path)) as reader:
            for after, until in partition.spans:
                for batch in reader.read(after, until):
                    yield self._pushed.rows(chosen(batch, self._options.tables))


def chosen(batch: EventBatch, tables: Sequence[str]) -> EventBatch:
    """The events of tables by globs; without any, all of them."""
    return of_tables(batch, lambda table: table.matches(tables)) if tables else batch


def _spans(
    runs: Iterable[SegmentInfo], pushed: Pushed, after: int, until: int
) -> Iterator[tuple[int, int, int]]:
    """What to read, cut at stored runs, each with its bytes.

    Only a run that is there and cannot hold a wanted event is left out. Numbers of which there is
    no run are read, so that the log says whether they may be missing (INV-9).
    """
    reached = after
    for run in runs:
        before, last = run.first_sequence - 1, min(run.last_sequence, until)
        if pushed.may_hold(run):
            yield reached, last, run.bytes
        elif before > reached:
            yield reached, before, 0
        reached = last
    if reached < until:
        yield reached, until, 0


def _share(spans: list[tuple[int, int, int]], parts: int) -> list[Range]:
    """Shares of about the same bytes; no two tasks decode the same stored batch."""
    total = sum(size for _, _, size in spans)
    ranges: list[Range] = []
    share: list[tuple[int, int]] = []
    done = 0
    for after, until, size in spans:
        if share and share[-1][1] == after:
            share[-1] = (share[-1][0], until)
        else:
            share.append((after, until))
        done += size
        if done * parts >= total * (len(ranges) + 1) and len(ranges) < parts - 1:
            ranges.append(Range(share))
            share = []
    return [*ranges, Range(share)] if share else ranges
