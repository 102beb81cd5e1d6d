"""`format("headwater")` over the embedded log. Workers import this module, so it stays light."""

from __future__ import annotations

from headwater.contract import Cursor, LogReader
from headwater.log import SqliteLog
from headwater.spark.source.datasource import LogDataSource


class SqliteLogOpener:
    """Opens logs by path, in the driver and in every worker."""

    def reader(self, path: str) -> LogReader:
        """A reader of the log."""
        return SqliteLog(path).reader()

    def cursor(self, path: str, name: str) -> Cursor:
        """The consumer's cursor; required, because Spark may replay what it has not committed."""
        return SqliteLog(path).cursor(name, required=True)


class HeadwaterDataSource(LogDataSource):
    """The data source bound to SqliteLog."""

    opener = SqliteLogOpener()
