"""EventBatch: many changes in columns. The unit of work from source to sink."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import DataError
from headwater.event.envelope import Event, Origin, Snapshot, Transaction
from headwater.event.operation import Operation
from headwater.event.schema import EVENT_SCHEMA, version_of
from headwater.event.value import decode_row


@dataclass(frozen=True, slots=True, eq=False)
class EventBatch:
    """A record batch of EVENT_SCHEMA.

    `closes_transaction` tells whether the last event ends its transaction; it is False only for a
    piece of a transaction that goes on in the next batch.
    """

    records: pa.RecordBatch
    closes_transaction: bool = True

    def __post_init__(self) -> None:
        schema = self.records.schema
        if schema.equals(EVENT_SCHEMA, check_metadata=False):
            return
        raise DataError(
            "event-schema",
            f"the batch has schema version {version_of(schema)} and columns {schema.names}",
        )

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Any], *, closes_transaction: bool = True
    ) -> EventBatch:
        """Build a batch from arrays or lists; columns left out are null, zero or false.

        A column given as a plain value (not a list or array) holds that value in every row.
        """
        count = _row_count(columns)
        unknown = columns.keys() - set(EVENT_SCHEMA.names)
        if unknown:
            raise DataError("event-schema", f"unknown columns {sorted(unknown)}")
        arrays = [_column(field, columns.get(field.name), count) for field in EVENT_SCHEMA]
        records = pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)
        return cls(records, closes_transaction)

    @classmethod
    def from_events(cls, events: Sequence[Event], *, closes_transaction: bool = True) -> EventBatch:
        """Build a batch from row views: for tests and small inputs."""
        rows = [_to_row(event) for event in events]
        records = pa.RecordBatch.from_pylist(rows, schema=EVENT_SCHEMA)
        return cls(records, closes_transaction)

    @classmethod
    def concat(cls, batches: Sequence[EventBatch]) -> EventBatch:
        """Join batches in order."""
        if not batches:
            return cls(pa.RecordBatch.from_pylist([], schema=EVENT_SCHEMA))
        if len(batches) == 1:
            return batches[0]
        records = pa.concat_batches([batch.records for batch in batches])
        return cls(records, batches[-1].closes_transaction)

    def __len__(self) -> int:
        return int(self.records.num_rows)

    def __iter__(self) -> Iterator[Event]:
        return (_to_event(row) for row in self.records.to_pylist())

    def column(self, name: str) -> pa.Array:
        """One column, without a copy."""
        return self.records.column(name)

    @property
    def first_sequence(self) -> int:
        """The first event's sequence number."""
        return int(self.column("sequence_number")[0].as_py())

    @property
    def last_sequence(self) -> int:
        """The last event's sequence number."""
        return int(self.column("sequence_number")[-1].as_py())

    def with_sequence(self, first: int) -> EventBatch:
        """The same events, numbered densely from `first` (INV-8)."""
        numbers = pa.array(np.arange(first, first + len(self), dtype=np.int64))
        records = self.records.set_column(0, EVENT_SCHEMA.field(0), numbers)
        return EventBatch(records, self.closes_transaction)

    def slice(self, start: int, length: int | None = None) -> EventBatch:
        """A run of events, without a copy; knows whether its end is a transaction border."""
        part = self.records.slice(start, length)
        end = start + part.num_rows
        closes = end == 0 or bool(self.ends_transaction()[end - 1])
        return EventBatch(part, closes)

    def filter(self, mask: pa.Array) -> EventBatch:
        """The events where the mask is true. Borders are judged before filtering, not after."""
        return EventBatch(self.records.filter(mask), self.closes_transaction)

    def ends_transaction(self) -> npt.NDArray[np.bool_]:
        """For each event, whether its transaction ends with it."""
        count = len(self)
        transaction = self.column("transaction")
        ends = np.ones(count, dtype=np.bool_)
        ends[-1:] = self.closes_transaction
        if transaction.null_count == count:
            return ends
        ids = transaction.field("tx_id").to_numpy(zero_copy_only=False)
        indexes = transaction.field("event_index").to_numpy(zero_copy_only=False)
        inside = transaction.is_valid().to_numpy(zero_copy_only=False)
        same = (ids[:-1] == ids[1:]) & (indexes[1:] == indexes[:-1] + 1)
        ends[:-1] = ~(same & inside[:-1] & inside[1:])
        return ends

    def borders(self) -> npt.NDArray[np.int64]:
        """The sequence numbers at which a transaction ends."""
        numbers = self.column("sequence_number").to_numpy()
        return np.asarray(numbers[self.ends_transaction()], dtype=np.int64)

    def equals(self, other: EventBatch) -> bool:
        """Same events in the same order, sequence numbers included."""
        return bool(self.records.equals(other.records))


def _row_count(columns: Mapping[str, Any]) -> int:
    for value in columns.values():
        if isinstance(value, (pa.Array, list, np.ndarray)):
            return len(value)
    raise DataError("event-schema", "at least one column must be a list or an array")


def _column(field: pa.Field, value: Any, count: int) -> pa.Array:
    if count == 0:
        return pa.array([], field.type)
    if value is None:
        if field.nullable:
            return pa.nulls(count, field.type)
        value = b"\0" * 16 if field.name == "event_id" else _zero(field.type)
    if isinstance(value, pa.Array):
        return value if value.type == field.type else value.cast(field.type)
    if isinstance(value, (list, np.ndarray)) and field.name != "primary_key":
        return pa.array(value, field.type)
    if field.name == "primary_key" and value and not isinstance(value[0], str):
        return pa.array(value, field.type)
    return pa.repeat(pa.scalar(value, field.type), count)


def _zero(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return ""
    return False if pa.types.is_boolean(kind) else 0


def _to_event(row: dict[str, Any]) -> Event:
    snapshot, transaction = row["snapshot"], row["transaction"]
    return Event(
        op=Operation(row["op"]),
        source=Origin(row["source_name"], row["offset"], row["source_ts_ms"]),
        ts_ms=row["ts_ms"],
        table=row["table_name"],
        schema=row["table_schema"],
        primary_key=None if row["primary_key"] is None else tuple(row["primary_key"]),
        before=None if row["before"] is None else decode_row(row["before"]),
        after=None if row["after"] is None else decode_row(row["after"]),
        snapshot=None if snapshot is None else Snapshot(**snapshot),
        transaction=None if transaction is None else Transaction(**transaction),
        before_is_key_only=row["before_is_key_only"],
        unavailable_columns=tuple(row["unavailable_columns"] or ()),
        before_unavailable_columns=tuple(row["before_unavailable_columns"] or ()),
        sequence_number=row["sequence_number"],
        event_id=UUID(bytes=row["event_id"]),
        schema_id=row["schema_id"],
        context=None if row["context"] is None else json.loads(row["context"]),
        extra=None if row["extra"] is None else json.loads(row["extra"]),
    )


def _to_row(event: Event) -> dict[str, Any]:
    snapshot, transaction = event.snapshot, event.transaction
    return {
        "sequence_number": event.sequence_number,
        "event_id": event.event_id.bytes,
        "op": int(event.op),
        "source_name": event.source.source_name,
        "offset": event.source.offset,
        "source_ts_ms": event.source.timestamp_ms,
        "ts_ms": event.ts_ms,
        "table_schema": event.schema,
        "table_name": event.table,
        "primary_key": None if event.primary_key is None else list(event.primary_key),
        "before": _image(event.before),
        "after": _image(event.after),
        "before_is_key_only": event.before_is_key_only,
        "unavailable_columns": list(event.unavailable_columns) or None,
        "before_unavailable_columns": list(event.before_unavailable_columns) or None,
        "snapshot": None
        if snapshot is None
        else {
            "snapshot_id": snapshot.snapshot_id,
            "chunk_index": snapshot.chunk_index,
            "is_last_chunk": snapshot.is_last_chunk,
        },
        "transaction": None
        if transaction is None
        else {
            "tx_id": transaction.tx_id,
            "total_events": transaction.total_events,
            "event_index": transaction.event_index,
        },
        "schema_id": event.schema_id,
        "context": _image(event.context),
        "extra": _image(event.extra),
    }


def _image(value: dict[str, Any] | None) -> str | None:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
