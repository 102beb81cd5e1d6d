"""From fetched rows to event columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headwater.event import EventBatch, Operation, TableSchema, event_ids
from headwater.event.schema import TRANSACTION

SOURCE_NAME = "sqlite"


@dataclass(frozen=True, slots=True)
class Changes:
    """Change rows in columns. `ops` has None for a context marker, whose text is its context."""

    change_ids: Sequence[int]
    capture_nos: Sequence[int]
    ops: Sequence[int | None]
    times_ms: Sequence[int]
    before: pa.Array
    after: pa.Array
    contexts: Sequence[str | None]

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]]) -> Changes:
        """From fetched rows. ArrowInvalid if an image is not UTF-8: any text may be stored."""
        columns = list(zip(*rows, strict=True)) or [()] * 7
        change_ids, capture_nos, ops, times_ms, before, after, contexts = columns
        return cls(change_ids, capture_nos, ops, times_ms, utf8(before), utf8(after), contexts)

    def __len__(self) -> int:
        return len(self.change_ids)

    def only(self, places: Sequence[int], contexts: Sequence[str | None]) -> Changes:
        """The changes at these places, under these contexts."""
        taken = pa.array(places, pa.int64())
        return Changes(
            [self.change_ids[place] for place in places],
            [self.capture_nos[place] for place in places],
            [self.ops[place] for place in places],
            [self.times_ms[place] for place in places],
            self.before.take(taken),
            self.after.take(taken),
            contexts,
        )


@dataclass(frozen=True, slots=True)
class Group:
    """The transaction that a run of changes belongs to, and how far it has come."""

    tx_id: int
    first_index: int
    total_events: int | None


def change_batch(
    uid: str,
    changes: Changes,
    schemas: dict[int, TableSchema],
    group: Group,
    *,
    closes_transaction: bool,
) -> EventBatch:
    """Events of changes."""
    if not len(changes):
        return EventBatch(EventBatch.concat([]).records, closes_transaction)
    offsets = [str(change_id) for change_id in changes.change_ids]
    numbers = np.unique(np.asarray(changes.capture_nos), return_inverse=True)
    involved = [schemas[int(number)] for number in numbers[0]]
    count = len(changes)
    index = np.arange(group.first_index, group.first_index + count)
    total = pa.nulls(count, pa.int64())
    if group.total_events is not None:
        total = pa.repeat(pa.scalar(group.total_events, pa.int64()), count)
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, offsets),
            "op": list(changes.ops),
            "source_name": SOURCE_NAME,
            "offset": offsets,
            "source_ts_ms": list(changes.times_ms),
            "ts_ms": list(changes.times_ms),
            **_per_table(involved, numbers[1]),
            "before": changes.before,
            "after": changes.after,
            "transaction": _transactions(group.tx_id, total, index),
            "context": pa.array(changes.contexts, pa.string()),
        },
        closes_transaction=closes_transaction,
    )


def _per_table(schemas: Sequence[TableSchema], which: np.ndarray[Any, Any]) -> dict[str, pa.Array]:
    """The columns that depend on the table alone, taken from one value per table."""
    names = pa.array([schema.table.name for schema in schemas], pa.string())
    keys = pa.array([schema.primary_key or None for schema in schemas], pa.list_(pa.string()))
    ids = pa.array([schema.schema_id for schema in schemas], pa.int64())
    places = pa.array(which)
    return {
        "table_name": names.take(places),
        "primary_key": keys.take(places),
        "schema_id": ids.take(places),
    }


def _transactions(tx_id: int, total: pa.Array, index: np.ndarray[Any, Any]) -> pa.Array:
    return pa.StructArray.from_arrays(
        [pa.repeat(pa.scalar(tx_id, pa.int64()), len(index)), total, pa.array(index)],
        fields=list(TRANSACTION),
    )


@dataclass(frozen=True, slots=True)
class Chunk:
    """One chunk of a snapshot: which one, and the number of its first row in the table."""

    snapshot_id: str
    chunk_index: int
    first_row: int
    is_last: bool
    ts_ms: int


def snapshot_batch(
    uid: str, images: pa.Array, schema: TableSchema, capture_no: int, chunk: Chunk
) -> EventBatch:
    """`read` events of row images."""
    offsets = [
        f"{chunk.snapshot_id}:{capture_no}:{chunk.first_row + number}"
        for number in range(len(images))
    ]
    block = {
        "snapshot_id": chunk.snapshot_id,
        "chunk_index": chunk.chunk_index,
        "is_last_chunk": chunk.is_last,
    }
    return EventBatch.from_columns(
        {
            "event_id": event_ids(uid, offsets),
            "op": int(Operation.READ),
            "source_name": SOURCE_NAME,
            "offset": offsets,
            "source_ts_ms": chunk.ts_ms,
            "ts_ms": chunk.ts_ms,
            "table_name": schema.table.name,
            "primary_key": pa.array(
                [schema.primary_key or None] * len(images), pa.list_(pa.string())
            ),
            "after": images,
            "snapshot": block,
            "schema_id": schema.schema_id,
        }
    )


def utf8(values: Sequence[bytes | None]) -> pa.Array:
    """A text column from bytes, checked once per column; ArrowInvalid if it is not UTF-8."""
    return pa.array(values, pa.binary()).cast(pa.string())
