"""Rows of a frame through functions of whole Arrow batches, on every executor.

PySpark has mapInArrow for this, and asks for pandas with it. Its Arrow functions do without, but
give one value for each row. So here the value is a list: that of one row may have all that its
batch became, those of the others are empty, and the lists are unfolded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import arrow_udf

from headwater.event import EventBatch
from headwater.spark.source.frame import from_spark, to_spark

Batches = Callable[[Iterator[pa.Array]], Iterator[pa.Array]]


EVENT_COLUMNS = tuple(to_spark(EventBatch.concat([])).schema.names)


def through(frame: DataFrame, columns: Sequence[str], function: Batches, ddl: str) -> DataFrame:
    """The frame's rows through a function from structs to lists: more rows or fewer come out."""

    def batches(rows: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return function(rows)

    lists = arrow_udf(batches, f"array<struct<{ddl}>>")  # type: ignore[call-overload]
    return frame.select(f.explode(lists(f.struct(*columns))).alias("row")).select("row.*")


def events_of(rows: pa.Array) -> EventBatch:
    """The events of structs in the columns of SPARK_DDL."""
    return from_spark(pa.RecordBatch.from_struct_array(rows))


def in_first(rows: pa.RecordBatch, count: int) -> pa.Array:
    """All rows in the list of the first of `count` rows."""
    ends = [rows.num_rows] * count
    return pa.ListArray.from_arrays(pa.array([0, *ends], pa.int32()), rows.to_struct_array())
