"""What Spark's tables do, as metrics."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.contract import Metrics
from headwater.spark.apply.report import TableReport
from headwater.spark.progress import BatchReport


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

    def batch(self, report: BatchReport) -> None:
        """A micro-batch has ended."""
        self.metrics.observe("headwater_spark_batch_seconds", report.seconds)
        self.metrics.gauge("headwater_spark_sequence", report.sequence)
        self.metrics.gauge("headwater_spark_lag_events", report.waiting)
