"""A column that is worked out of events in whole batches, beside those that are there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import arrow_udf

from headwater.event import EventBatch, Operation

Derive = Callable[[EventBatch], pa.Array]

_LABELS = pa.array([None, *(op.label for op in Operation)], pa.string())
_NAMES = {"schema": "table_schema", "table": "table_name"}


def with_column(
    frame: DataFrame, name: str, derive: Derive, ddl: str, reads: Sequence[str]
) -> DataFrame:
    """The frame with one more column; `derive` sees the columns `reads` of the events, no others.

    `reads` are columns that an event batch has as they are, and `op`, `schema` and `table`.
    """

    def values(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return (derive(_partial(rows)) for rows in batches)

    value = arrow_udf(values, ddl)  # type: ignore[call-overload]
    return frame.withColumn(name, value(f.struct(*reads)))


def _partial(rows: pa.Array) -> EventBatch:
    columns = {field.name: rows.field(field.name) for field in rows.type}
    if "op" in columns:
        columns["op"] = pc.index_in(columns["op"], _LABELS).cast(pa.int8())
    return EventBatch.from_columns({_NAMES.get(name, name): each for name, each in columns.items()})
