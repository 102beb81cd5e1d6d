"""`format("headwater")` over the embedded log. Workers import this module, so it stays light."""

from __future__ import annotations

from headwater.app.spark.origin import origin
from headwater.app.spark.topic import KafkaTopic, topic_of
from headwater.contract import Cursor, LogReader
from headwater.log import SqliteLog
from headwater.spark.source.datasource import LogDataSource
from headwater.spark.source.options import Options
from headwater.spark.source.ranges import Feed
from headwater.spark.source.records import FormatOpener


class SqliteLogOpener:
    """Opens logs by path, in the driver and in every worker."""

    def path(self, options: Options) -> str:
        """The log that is named, or that the database of a URL is captured into."""
        return origin(options).log

    def topic(self, options: Options) -> KafkaTopic | None:
        """The topic of a broker, if the path is the URL of one."""
        return topic_of(options)

    def form(self, options: Options) -> FormatOpener | None:
        """The format of the option, with the log that knows its tables, if one is read."""
        name = options.encode_as
        if not name:
            return None
        from headwater.app.format_recipe import FormatRecipe
        from headwater.app.registry import default_registry

        default_registry().format(name)  # a wrong name is told here, and not by a task that failed
        return FormatRecipe(name, None if self.topic(options) else self.path(options))

    def feed(self, options: Options) -> Feed | None:
        """Capture, if a URL is named: a log that is named is filled by somebody else."""
        found = origin(options)
        if found.url is None:
            return None
        from headwater.app.spark.feed import CaptureFeed

        return CaptureFeed(found)

    def reader(self, path: str) -> LogReader:
        """A reader of the log."""
        return SqliteLog(path).reader()

    def acked(self, path: str, name: str) -> int | None:
        """How far the consumer is, if there is one of that name."""
        known = SqliteLog(path).places()
        return next((cursor.acked for cursor in known if cursor.name == name), None)

    def cursor(self, path: str, name: str, start: int = 0) -> Cursor:
        """The consumer's cursor; required, because Spark may replay what it has not committed."""
        return SqliteLog(path).cursor(name, required=True, start=start)


class HeadwaterDataSource(LogDataSource):
    """The data source bound to SqliteLog."""

    opener = SqliteLogOpener()
