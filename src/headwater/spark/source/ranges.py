"""Ranges of a log as the tasks of a read: planned by stored batches, read by any executor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from headwater.contract import Cursor, LogReader, SegmentInfo
from headwater.event import TableId
from headwater.spark.source.frame import to_spark
from headwater.spark.source.options import Options


class LogOpener(Protocol):
    """How a worker reaches the log; picklable, so that executors can open it for themselves."""

    def reader(self, path: str) -> LogReader:
        """A reader of the log at `path`."""
        ...

    def cursor(self, path: str, name: str) -> Cursor:
        """A consumer's cursor in the log at `path`."""
        ...


@dataclass
class Range(InputPartition):
    """One task's share: events in (after, until]."""

    after: int
    until: int


class RangeReader:
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
