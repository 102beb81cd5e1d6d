"""`format("headwater")` over the embedded log. Workers import this module, so it stays light."""

from __future__ import annotations

from pathlib import Path

from headwater.contract import Cursor, LogReader
from headwater.errors import ConfigError
from headwater.log import SqliteLog
from headwater.spark.source.datasource import LogDataSource
from headwater.spark.source.options import Options
from headwater.spark.source.ranges import Feed


class SqliteLogOpener:
    """Opens logs by path, in the driver and in every worker."""

    def path(self, options: Options) -> str:
        """The log's path, absolute: workers may have another directory."""
        if not options.path:
            raise ConfigError("spark-option", "the option path is missing: which log?")
        return str(Path(options.path).absolute())

    def feed(self, options: Options) -> Feed | None:
        """A log that is named is filled by somebody else."""
        del options
        return None

    def reader(self, path: str) -> LogReader:
        """A reader of the log."""
        return SqliteLog(path).reader()

    def acked(self, path: str, name: str) -> int | None:
        """How far the consumer is, if there is one of that name."""
        known = SqliteLog(path).info().cursors
        return next((cursor.acked for cursor in known if cursor.name == name), None)

    def cursor(self, path: str, name: str, start: int = 0) -> Cursor:
        """The consumer's cursor; required, because Spark may replay what it has not committed."""
        return SqliteLog(path).cursor(name, required=True, start=start)


class HeadwaterDataSource(LogDataSource):
    """The data source bound to SqliteLog."""

    opener = SqliteLogOpener()
