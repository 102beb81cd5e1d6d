"""Records that tell of whole transactions: what a row's change is, and what else it changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from headwater.contract import Message
from headwater.event import EventBatch
from headwater.spark.functions.transactions import per_transaction
from headwater.spark.source.records import RECORD_DDL, records

Writer = Callable[[EventBatch], Sequence[bytes]]


class WriterOpener(Protocol):
    """How a worker comes by what writes the records; picklable, as executors open it."""

    def open(self) -> AbstractContextManager[Writer]:
        """From events of whole transactions to records, for as long as the block lasts."""
        ...


def entities(frame: DataFrame, opener: WriterOpener) -> DataFrame:
    """The records, in the columns of Spark's Kafka sink."""

    def written(batch: EventBatch) -> pa.RecordBatch:
        with opener.open() as write:
            return records([Message(None, value) for value in write(batch)])

    return per_transaction(frame, written, RECORD_DDL)
