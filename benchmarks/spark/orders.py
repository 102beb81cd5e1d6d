"""Changes of a table with decimals, times and nulls, of which some columns are not always sent."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

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
from headwater.log import SqliteLog
from headwater.testing.builders import TS_MS

ORDERS = TableSchema(
    table=TableId("public", "orders"),
    columns=(
        Column("id", LogicalType(Kind.INT64), nullable=False),
        Column("customer", LogicalType(Kind.STRING)),
        Column("amount", LogicalType(Kind.DECIMAL, precision=12, scale=2)),
        Column("placed_at", LogicalType(Kind.TIMESTAMPTZ)),
        Column("due", LogicalType(Kind.DATE)),
        Column("paid", LogicalType(Kind.BOOLEAN)),
        Column("rating", LogicalType(Kind.FLOAT64)),
        Column("note", LogicalType(Kind.STRING)),
    ),
    primary_key=("id",),
)
_UID, _PER_COMMIT, _PER_TRANSACTION = "benchmark", 10_000, 100
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def write_orders(path: Path, count: int) -> None:
    """A log of `count` changes: 30 % inserts, 60 % updates, 10 % deletes.

    Every fourth update leaves its note out, every tenth transaction has a context, and a deleted
    row is told by its key alone.
    """
    writer = SqliteLog(path).writer(SourceIdentity("postgres", _UID))
    draw = random.Random(7)
    for first in range(0, count, _PER_COMMIT):
        batch = _changes(first, min(_PER_COMMIT, count - first), draw)
        writer.append(SourceBatch(batch, Position({"change": first}), (ORDERS,)))
    writer.close()


def _changes(first: int, count: int, draw: random.Random) -> EventBatch:
    numbers = range(first, first + count)
    ops = draw.choices((Operation.INSERT, Operation.UPDATE, Operation.DELETE), (3, 6, 1), k=count)
    short = [op is Operation.UPDATE and draw.random() < 0.25 for op in ops]
    offsets = [f"0/{number:X}" for number in numbers]
    gone = [op is Operation.DELETE for op in ops]
    rows = [_order(number, draw) for number in numbers]
    images = list(zip(rows, gone, short, strict=True))
    return EventBatch.from_columns(
        {
            "event_id": event_ids(_UID, offsets),
            "op": [int(op) for op in ops],
            "source_name": "postgres",
            "offset": offsets,
            "source_ts_ms": [TS_MS + number for number in numbers],
            "ts_ms": [TS_MS + number + 5 for number in numbers],
            "table_schema": "public",
            "table_name": "orders",
            "primary_key": ["id"],
            "schema_id": ORDERS.schema_id,
            "before": [encode_row({"id": row["id"]}) if g else None for row, g, _ in images],
            "before_is_key_only": gone,
            "after": [None if g else encode_row(_sent(row, short=s)) for row, g, s in images],
            "unavailable_columns": [["note"] if s else None for s in short],
            "transaction": [_transaction(number) for number in numbers],
            "context": ['{"user":"eve"}' if n // 100 % 10 == 0 else None for n in numbers],
        }
    )


def _transaction(number: int) -> dict[str, int]:
    tx_id, index = divmod(number, _PER_TRANSACTION)
    return {"tx_id": tx_id + 1, "total_events": _PER_TRANSACTION, "event_index": index}


def _sent(row: dict[str, Any], *, short: bool) -> dict[str, Any]:
    return {name: value for name, value in row.items() if not (short and name == "note")}


def _order(number: int, draw: random.Random) -> dict[str, Any]:
    placed = _FIRST + timedelta(microseconds=draw.randrange(10**13))
    return {
        "id": number,
        "customer": f"Customer {draw.randrange(10**9)}",
        "amount": f"{draw.randrange(10**6)}.{draw.randrange(100):02}",
        "placed_at": placed.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "due": str(date(2026, 1, 1) + timedelta(days=draw.randrange(365))),
        "paid": None if draw.random() < 0.2 else draw.random() < 0.5,
        "rating": draw.random(),
        "note": draw.randbytes(60).hex(),
    }
