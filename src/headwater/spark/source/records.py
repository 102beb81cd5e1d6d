"""Events as rows of a read: in the columns of the event, or as records of a format.

A record is `key`, `value` and `headers`, the columns that Spark's Kafka sink takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from headwater.contract import Format, Message, MessageFormat
from headwater.event import EventBatch
from headwater.spark.source.frame import to_spark

PLACES = ("key", "value", "headers")
RECORD_DDL = "key binary, value binary, headers array<struct<key: string, value: binary>>"
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class FormatOpener(Protocol):
    """How a worker comes by the format; picklable, so that executors can open it for themselves."""

    def open(self) -> AbstractContextManager[Format]:
        """The format, for as long as the block lasts."""
        ...


def rows_of(batches: Iterator[EventBatch], opener: FormatOpener | None) -> Iterator[pa.RecordBatch]:
    """What a task gives to Spark: events, or their records if a format is to be opened."""
    if opener is None:
        yield from map(to_spark, batches)
        return
    with opener.open() as form:
        for batch in batches:
            yield records(messages(form, batch))


def messages(form: Format, batch: EventBatch) -> Sequence[Message]:
    """What a format makes of events, with keys and headers where it has them."""
    if isinstance(form, MessageFormat):
        return form.messages(batch)
    return [Message(None, record) for record in form.encode(batch)]


def records(messages: Sequence[Message]) -> pa.RecordBatch:
    """Messages in the columns of RECORD_DDL."""
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
        names=list(PLACES),
    )
