"""`format("headwater")`: the log as a streaming and a batch source, read by every executor.

Options: `path`, `consumer` (the cursor to move), `tables` (globs, separated by commas),
`startingSequence` (`earliest`, `latest` or a number; default: the cursor), `endingSequence` (batch
only), `maxEventsPerTrigger`, `partitions`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from headwater.spark.source.frame import SPARK_DDL
from headwater.spark.source.options import Options
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


class LogBatchReader(RangeReader, DataSourceReader):
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
