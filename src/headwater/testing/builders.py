"""Builders: small valid batches for tests, told apart by numbers a person can follow."""

from __future__ import annotations

from headwater.contract import SourceBatch, SourceIdentity
from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
    encode_row,
    event_ids,
)

IDENTITY = SourceIdentity("scripted", "11111111-2222-3333-4444-555555555555")
TS_MS = 1_700_000_000_000

ITEMS = TableSchema(
    table=TableId(None, "items"),
    columns=(
        Column("id", LogicalType(Kind.INT64), nullable=False, declared="INTEGER"),
        Column("name", LogicalType(Kind.STRING), declared="TEXT"),
    ),
    primary_key=("id",),
)


def inserts(
    first: int,
    count: int,
    *,
    tx_id: int | None = None,
    first_index: int = 0,
    closes_transaction: bool = True,
) -> EventBatch:
    """`count` inserts into `items`, ids from `first`; one transaction where `tx_id` is given."""
    numbers = range(first, first + count)
    offsets = [f"change:{number}" for number in numbers]
    transactions = None
    if tx_id is not None:
        transactions = [
            {"tx_id": tx_id, "total_events": None, "event_index": first_index + index}
            for index in range(count)
        ]
    return EventBatch.from_columns(
        {
            "event_id": event_ids(IDENTITY.uid, offsets),
            "op": int(Operation.INSERT),
            "source_name": IDENTITY.name,
            "offset": offsets,
            "source_ts_ms": TS_MS,
            "ts_ms": [TS_MS + number for number in numbers],
            "table_name": "items",
            "primary_key": list(ITEMS.primary_key),
            "after": [encode_row({"id": number, "name": f"item {number}"}) for number in numbers],
            "transaction": transactions,
            "schema_id": ITEMS.schema_id,
        },
        closes_transaction=closes_transaction,
    )


def source_batch(events: EventBatch, position: int) -> SourceBatch:
    """The batch as a source would hand it to the log, with its schema."""
    return SourceBatch(events, Position({"change": position}), schemas=(ITEMS,))
