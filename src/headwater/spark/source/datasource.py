"""`format("headwater")`: the log as a streaming and a batch source, read by every executor.

options.py has the options, place.py where a read begins and ends, admission.py how much a
micro-batch takes, tasks.py how many read it, filters.py what a batch read is spared. typed_read.py
is what tables ask for instead of events. topic.py reads events that a broker carries. records.py
gives records of a format instead of events.
"""

from __future__ import annotations

from typing import Protocol

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from headwater.spark.source.batch import FilteringReader, LogBatchReader
from headwater.spark.source.frame import SPARK_DDL
from headwater.spark.source.options import Options
from headwater.spark.source.ranges import LogOpener
from headwater.spark.source.records import RECORD_DDL
from headwater.spark.source.stream import LogStreamReader
from headwater.spark.source.tasks import USUAL
from headwater.spark.source.topic import Topic, TopicBatchReader, TopicStreamReader
from headwater.spark.source.typed_reader import TypedReader

NAME = "headwater"


class Opener(LogOpener, Protocol):
    """How a read reaches what it names: a log, or a topic."""

    def topic(self, options: Options) -> Topic | None:
        """The topic that a read names; None if it names a log or a database."""
        ...


class LogDataSource(DataSource):
    """The data source; a subclass binds `opener` to a kind of log.

    `cores` is what the session has. Reads are planned in a process of their own, which knows only
    what was registered and the options.
    """

    opener: Opener
    cores: int = USUAL

    @classmethod
    def name(cls) -> str:
        """The word in `format(…)`."""
        return NAME

    def _asked(self) -> Options:
        return Options.parse(dict(self.options), self.cores)

    def schema(self) -> str:
        """The canonical event, or a record. Asked for by `load`: options are checked there."""
        options = self._asked()
        if self.opener.topic(options) is None:
            self.opener.path(options)
        return SPARK_DDL if self.opener.form(options) is None else RECORD_DDL

    def reader(self, schema: StructType) -> DataSourceReader:
        """A batch read of a range."""
        del schema
        options = self._asked()
        topic = self.opener.topic(options)
        if topic is not None:
            return TopicBatchReader(topic, options, self.opener.form(options))
        if options.typed_read:
            return TypedReader(self.opener, options)
        kind = FilteringReader if options.push_filters else LogBatchReader
        return kind(self.opener, options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """A stream from an offset on."""
        del schema
        options = self._asked()
        topic = self.opener.topic(options)
        if topic is not None:
            return TopicStreamReader(topic, options, self.opener.form(options))
        return LogStreamReader(self.opener, options)
