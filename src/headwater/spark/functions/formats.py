"""Events to records of any format and back, as DataFrames: batch or stream, on every executor.

`encode` takes events as `format("headwater")` reads them and gives `key`, `value` and `headers`,
the columns that Spark's Kafka sink takes. `decode` takes a `value`, and a `key` and `headers` where
they are there, and gives events. Rows go through Arrow in whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from headwater.contract import Format, Message, MessageFormat
from headwater.event import EventBatch
from headwater.spark.source.frame import SPARK_DDL, from_spark, to_spark

Batches = Callable[[Iterator[pa.Array]], Iterator[pa.Array]]

RECORD_DDL = "key binary, value binary, headers array<struct<key: string, value: binary>>"

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_PLACES = ("key", "value", "headers")


class FormatOpener(Protocol):
    """How a worker comes by the format; picklable, so that executors can open it for themselves."""

    def open(self) -> AbstractContextManager[Format]:
        """The format, for as long as the block lasts."""
        ...


def encode(frame: DataFrame, opener: FormatOpener) -> DataFrame:
    """The records of the frame's events, in its order within each partition."""

    def batches(rows: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return encode_batches(opener, rows)

    return _through(frame, _names(SPARK_DDL), batches, RECORD_DDL)


def decode(frame: DataFrame, opener: FormatOpener) -> DataFrame:
    """The events of the frame's records."""

    def batches(rows: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return decode_batches(opener, rows)

    given = [name for name in _PLACES if name in frame.columns]
    return _through(frame, given, batches, SPARK_DDL)


def encode_batches(opener: FormatOpener, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """What an executor does with its events: structs in, and a list of records for each batch."""
    with opener.open() as form:
        for rows in batches:
            events = from_spark(pa.RecordBatch.from_struct_array(rows))
            yield _as_list(_records(_messages(form, events)), len(rows))


def decode_batches(opener: FormatOpener, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """What an executor does with its records: structs in, and a list of events for each batch."""
    with opener.open() as form:
        for rows in batches:
            events = _events(form, pa.RecordBatch.from_struct_array(rows))
            yield _as_list(to_spark(events), len(rows))


def _through(frame: DataFrame, columns: Sequence[str], function: Batches, ddl: str) -> DataFrame:
    """The frame's rows through a function of whole batches, which may give more rows or fewer.

    This is mapInArrow, for which PySpark asks for pandas as well; Arrow's own functions do without.
    They give a value for each row. Here it is a list: that of a batch's first row has all that the
    batch became, the others are empty.
    """
    lists = arrow_udf(function, f"array<struct<{ddl}>>")  # type: ignore[call-overload]
    return frame.select(f.explode(lists(f.struct(*columns))).alias("row")).select("row.*")


def _as_list(rows: pa.RecordBatch, count: int) -> pa.Array:
    ends = [rows.num_rows] * count
    return pa.ListArray.from_arrays(pa.array([0, *ends], pa.int32()), rows.to_struct_array())


def _names(ddl: str) -> list[str]:
    return [field.name for field in cast("StructType", StructType.fromDDL(ddl)).fields]


def _messages(form: Format, batch: EventBatch) -> Sequence[Message]:
    if isinstance(form, MessageFormat):
        return form.messages(batch)
    return [Message(None, record) for record in form.encode(batch)]


def _records(messages: Sequence[Message]) -> pa.RecordBatch:
    headers = [
        [{"key": name, "value": value} for name, value in message.headers] or None
        for message in messages
    ]
    return pa.RecordBatch.from_arrays(
        [
            pa.array([message.key for message in messages], pa.binary()),
            pa.array([message.value for message in messages], pa.binary()),
            pa.array(headers, _HEADERS),
        ],
        names=list(_PLACES),
    )


def _events(form: Format, rows: pa.RecordBatch) -> EventBatch:
    values = rows.column("value").to_pylist()
    if not isinstance(form, MessageFormat):
        return form.decode(value for value in values if value is not None)
    given = set(rows.schema.names)
    absent = [None] * len(values)
    keys = rows.column("key").to_pylist() if "key" in given else absent
    headers = rows.column("headers").to_pylist() if "headers" in given else absent
    return form.read_messages(
        Message(key, value, tuple((pair["key"], pair["value"]) for pair in pairs or ()))
        for key, value, pairs in zip(keys, values, headers, strict=True)
    )
