"""`format("headwater")`: the log as a streaming and a batch source, read by every executor.

options.py has the options, place.py where a read begins and ends, admission.py how much a
micro-batch takes, filters.py what a batch read is spared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    Filter,
    InputPartition,
)
from pyspark.sql.types import StructType

from headwater.spark.source.filters import take
from headwater.spark.source.frame import SPARK_DDL
from headwater.spark.source.options import Options
from headwater.spark.source.place import EARLIEST, sequence_at
from headwater.spark.source.ranges import LogOpener, RangeReader
from headwater.spark.source.stream import LogStreamReader

NAME = "headwater"


class LogDataSource(DataSource):
    """The data source; a subclass binds `opener` to a kind of log."""

    opener: LogOpener

    @classmethod
    def name(cls) -> str:
        """The word in `format(…)`."""
        return NAME

    def schema(self) -> str:
        """The canonical event; see frame.py. Asked for by `load`: options are checked there."""
        self.opener.path(Options.parse(dict(self.options)))
        return SPARK_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read of a range."""
        del schema
        options = Options.parse(dict(self.options))
        kind = FilteringReader if options.push_filters else LogBatchReader
        return kind(self.opener, options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """A stream from an offset on."""
        del schema
        return LogStreamReader(self.opener, Options.parse(dict(self.options)))


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
