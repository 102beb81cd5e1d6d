"""Every metric: name, kind, help and the labels that it may carry.

Labels name parts and tables. A label that is not listed is refused, so no value of a row and no
secret can become one (INV-12).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the catalogue.

    A summary is a sum and a count. It is for what every table has: with hundreds of tables, the
    buckets of a histogram would be most of what is sent.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram", "summary"]
    help: str
    labels: tuple[str, ...] = ()


_ALL = (
    Metric(
        "headwater_capture_events_total",
        "counter",
        "Events made durable in the log.",
        ("source", "phase"),
    ),
    Metric(
        "headwater_capture_transactions_total",
        "counter",
        "Appends that made events visible.",
        ("source",),
    ),
    Metric(
        "headwater_capture_retries_total",
        "counter",
        "Times the source was opened again after a failure.",
        ("source", "code"),
    ),
    Metric(
        "headwater_capture_append_seconds",
        "histogram",
        "Time to make one batch durable in the log.",
        ("source",),
    ),
    Metric(
        "headwater_capture_state",
        "gauge",
        "1 for the state that the capture loop is in.",
        ("source", "state"),
    ),
    Metric(
        "headwater_source_gauge",
        "gauge",
        "What the source says of itself: bytes behind, bytes that a slot holds back.",
        ("source", "what"),
    ),
    Metric("headwater_log_head", "gauge", "Last visible sequence number.", ("source",)),
    Metric(
        "headwater_delivery_events_total",
        "counter",
        "Events that a sink holds durably and whose cursor moved.",
        ("consumer",),
    ),
    Metric(
        "headwater_delivery_retries_total",
        "counter",
        "Writes and flushes that were tried again.",
        ("consumer", "code"),
    ),
    Metric(
        "headwater_delivery_dead_letters_total",
        "counter",
        "Events set aside because the sink can never take them.",
        ("consumer", "code"),
    ),
    Metric(
        "headwater_delivery_write_seconds",
        "histogram",
        "Time of one write to a sink.",
        ("consumer",),
    ),
    Metric(
        "headwater_delivery_state",
        "gauge",
        "1 for the state that the delivery loop is in.",
        ("consumer", "state"),
    ),
    Metric(
        "headwater_cursor_lag_events",
        "gauge",
        "Visible events that the consumer has not acknowledged.",
        ("consumer",),
    ),
    Metric(
        "headwater_cursor_lag_bytes",
        "gauge",
        "Bytes of the log that hold events which the consumer has not acknowledged.",
        ("consumer",),
    ),
    Metric(
        "headwater_cursor_lag_seconds",
        "gauge",
        "How long the oldest event that the consumer has not acknowledged has waited.",
        ("consumer",),
    ),
    Metric(
        "headwater_spark_batch_seconds",
        "histogram",
        "Time of one micro-batch.",
    ),
    Metric("headwater_spark_sequence", "gauge", "End of the last micro-batch."),
    Metric("headwater_spark_lag_events", "gauge", "Events that no micro-batch has taken yet."),
    Metric(
        "headwater_spark_table_events_total",
        "counter",
        "Events that a table has taken.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_seconds",
        "summary",
        "Time of one table's part of a micro-batch.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_sequence",
        "gauge",
        "The last event that a table has taken.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_lag_events",
        "gauge",
        "Events of the log after what a table has taken.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_lag_bytes",
        "gauge",
        "Bytes of the log that hold events after what a table has taken.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_lag_seconds",
        "gauge",
        "How long the oldest event after what a table has taken has waited.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_files",
        "gauge",
        "Data files of a table.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_bytes",
        "gauge",
        "Size of a table's data files.",
        ("table",),
    ),
    Metric(
        "headwater_spark_table_write_amplification",
        "gauge",
        "Bytes written, data and marks, for every byte of the rows that the last batch changed.",
        ("table",),
    ),
    Metric(
        "headwater_spark_compactions_total",
        "counter",
        "Times a table's small files were written together.",
        ("table",),
    ),
    Metric(
        "headwater_spark_maintenance_failures_total",
        "counter",
        "Times a table could not be looked after.",
        ("table", "code"),
    ),
    Metric(
        "headwater_spark_table_parked",
        "gauge",
        "1 while a table is parked.",
        ("table",),
    ),
)

CATALOGUE: dict[str, Metric] = {metric.name: metric for metric in _ALL}
