"""Events to records of any format and back, as DataFrames: batch or stream, on every executor.

`encode` takes events as `format("headwater")` reads them and gives `key`, `value` and `headers`,
the columns that Spark's Kafka sink takes. `decode` takes a `value`, and a `key` and `headers` where
they are there, and gives events. Rows go through Arrow in whole batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from headwater.contract import Format, Message, MessageFormat
from headwater.event import EventBatch
from headwater.spark.functions.arrow import EVENT_COLUMNS, events_of, in_first, through
from headwater.spark.source.frame import SPARK_DDL, to_spark
from headwater.spark.source.records import PLACES, RECORD_DDL, FormatOpener, messages, records


def encode(frame: DataFrame, opener: FormatOpener) -> DataFrame:
    """The records of the frame's events, in its order within each partition."""
    return through(frame, EVENT_COLUMNS, partial(encode_batches, opener), RECORD_DDL)


def decode(frame: DataFrame, opener: FormatOpener) -> DataFrame:
    """The events of the frame's records."""
    given = [name for name in PLACES if name in frame.columns]
    return through(frame, given, partial(decode_batches, opener), SPARK_DDL)


def encode_batches(opener: FormatOpener, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """What an executor does with its events: structs in, and a list of records for each batch."""
    with opener.open() as form:
        for rows in batches:
            yield in_first(records(messages(form, events_of(rows))), len(rows))


def decode_batches(opener: FormatOpener, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """What an executor does with its records: structs in, and a list of events for each batch."""
    with opener.open() as form:
        for rows in batches:
            events = _events(form, pa.RecordBatch.from_struct_array(rows))
            yield in_first(to_spark(events), len(rows))


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
