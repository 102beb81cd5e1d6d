"""A batch read: a fixed range of the log, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from headwater.spark.source.filters import take
from headwater.spark.source.options import Options
from headwater.spark.source.place import EARLIEST, sequence_at
from headwater.spark.source.ranges import LogOpener, RangeReader


class LogBatchReader(RangeReader, DataSourceReader):
    """Reads a fixed range once."""

    def __init__(self, opener: LogOpener, options: Options) -> None:
        super().__init__(opener, options.for_batch())

    def partitions(self) -> list[InputPartition]:
        """The ranges of the tasks."""
        feed = self._opener.feed(self._options)
        if feed is not None:
            try:
                feed.catch_up(handover=False)
            finally:
                feed.end()
        with closing(self._opener.reader(self._path)) as reader:
            after = sequence_at(reader, self._options.start or EARLIEST)
            end = self._options.end
            until = reader.bounds().head if end is None else sequence_at(reader, end)
        return list(self._plan(max(after, 0), until))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        return self._rows(partition)


class FilteringReader(LogBatchReader):
    """The same, with filters that Spark hands over: only where the read asks for it.

    Spark 4.2 keeps what a query has pushed with the loaded frame, and the next query on that frame
    reads no more than that. And it refuses a reader that takes filters, even where there are none,
    while `spark.sql.python.filterPushdown.enabled` is off.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        """Take what can be decided here; the rest is Spark's."""
        self._pushed, left = take(filters)
        return left
