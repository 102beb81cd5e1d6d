"""What Spark's tables do, as metrics."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from headwater.contract import Lag, Metrics
from headwater.spark.apply.report import TableReport, error_code
from headwater.spark.progress import BatchReport
from headwater.spark.table.upkeep import Files, WriteCost

_LOG = logging.getLogger("headwater.spark")


@dataclass(frozen=True, slots=True)
class SparkMeter:
    """Implements report.Watch."""

    metrics: Metrics

    def applied(self, report: TableReport) -> None:
        """A table took a batch."""
        name = report.name
        self.metrics.count("headwater_spark_table_events_total", report.events, table=name)
        self.metrics.observe("headwater_spark_table_seconds", report.seconds, table=name)
        self.metrics.gauge("headwater_spark_table_sequence", report.sequence, table=name)

    def parked(self, name: str, *, code: str | None) -> None:
        """A table was parked or released."""
        self.metrics.gauge("headwater_spark_table_parked", 0 if code is None else 1, table=name)

    def files(self, name: str, files: Files, cost: WriteCost | None) -> None:
        """What a table consists of, and what its last batch cost."""
        self._consists_of(name, files)
        if cost is not None:
            rate = cost.amplification
            self.metrics.gauge("headwater_spark_table_write_amplification", rate, table=name)

    def compacted(self, name: str, before: Files, after: Files) -> None:
        """A table was compacted."""
        self.metrics.count("headwater_spark_compactions_total", table=name)
        self._consists_of(name, after)
        facts = {"table": name, "files_before": before.count, "files_after": after.count}
        _LOG.info("table compacted", extra=facts)

    def _consists_of(self, name: str, files: Files) -> None:
        """Both are told together: one over the other is the average size of a file."""
        self.metrics.gauge("headwater_spark_table_files", files.count, table=name)
        self.metrics.gauge("headwater_spark_table_bytes", files.bytes, table=name)

    def failed(self, name: str, error: Exception) -> None:
        """A table could not be looked after: its rows are right, its files can wait."""
        code = error_code(error)
        self.metrics.count("headwater_spark_maintenance_failures_total", table=name, code=code)
        _LOG.warning("table not compacted", extra={"table": name, "code": code})

    def batch(self, report: BatchReport) -> None:
        """A micro-batch has ended."""
        self.metrics.observe("headwater_spark_batch_seconds", report.seconds)
        self.metrics.gauge("headwater_spark_sequence", report.sequence)
        self.metrics.gauge("headwater_spark_lag_events", report.waiting)

    def lag(self, name: str, lag: Lag) -> None:
        """How far a table is behind the log."""
        self.metrics.gauge("headwater_spark_table_lag_events", lag.events, table=name)
        self.metrics.gauge("headwater_spark_table_lag_bytes", lag.bytes, table=name)
        self.metrics.gauge("headwater_spark_table_lag_seconds", lag.seconds, table=name)
