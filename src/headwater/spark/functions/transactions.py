"""Whole transactions of a frame, each in one piece and in order, wherever Spark had cut them.

A micro-batch ends where a transaction ends (INV-7), so that a shuffle by transaction brings all of
its events to one task. That is enough for a stream too: nothing is kept between micro-batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import EventBatch
from headwater.spark.functions.arrow import EVENT_COLUMNS, events_of, through

Whole = Callable[[EventBatch], pa.RecordBatch]


def per_transaction(frame: DataFrame, function: Whole, ddl: str) -> DataFrame:
    """What the function makes of the events of whole transactions; a task's events at a time."""

    def batches(each: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return whole_batches(function, each)

    alone = f.coalesce("transaction.tx_id", "sequence_number")  # an event may have no transaction
    return through(frame.repartition(alone), EVENT_COLUMNS, batches, ddl)


def whole_batches(function: Whole, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """What an executor does with its events: structs in, and lists of rows for as many structs."""
    held = list(batches)
    if not held:
        return
    rows = pa.concat_arrays(held)
    order = np.argsort(rows.field("sequence_number").to_numpy(), kind="stable")
    made = function(events_of(rows.take(pa.array(order)))).to_struct_array()
    # One list of them all could be larger than Spark allows a row to be.
    ends = np.linspace(0, len(made), len(rows) + 1).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), made)
    at = 0
    for given in held:
        yield lists.slice(at, len(given))
        at += len(given)
