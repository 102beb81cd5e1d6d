"""A transform on a frame: the object that runs in the capture process, here on every executor."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame

from headwater.contract import Transform
from headwater.spark.functions.arrow import EVENT_COLUMNS, events_of, in_first, through
from headwater.spark.functions.transactions import per_transaction
from headwater.spark.source.frame import SPARK_DDL, to_spark


def transform(
    frame: DataFrame, change: Transform, *, whole_transactions: bool = False
) -> DataFrame:
    """The events as the transform makes them; other columns of the frame are left behind.

    It gets a few thousand events at a time, cut anywhere. With `whole_transactions` it gets all
    that a task has, transactions uncut, which costs a shuffle and the order of the rows.
    """
    if whole_transactions:
        return per_transaction(frame, lambda batch: to_spark(change(batch)), SPARK_DDL)

    def batches(each: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return (in_first(to_spark(change(events_of(rows))), len(rows)) for rows in each)

    return through(frame, EVENT_COLUMNS, batches, SPARK_DDL)
