"""A table of a million customers, and batches of changes to it: the same for every pipeline."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    TableId,
    TableSchema,
    encode_row,
    event_ids,
)
from headwater.testing.builders import TS_MS

_KINDS = {
    "id": Kind.INT64,
    "name": Kind.STRING,
    "city": Kind.STRING,
    "balance_cents": Kind.INT64,
    "rating": Kind.FLOAT64,
    "active": Kind.BOOLEAN,
    "note": Kind.STRING,
}
CUSTOMERS = TableSchema(
    table=TableId(None, "customers"),
    columns=tuple(Column(name, LogicalType(kind)) for name, kind in _KINDS.items()),
    primary_key=("id",),
)
SPARK_DDL = (
    "id bigint, name string, city string, balance_cents bigint, rating double, active boolean,"
    " note string"
)
_UID = "benchmark"


@dataclass
class Workload:
    """Half of the changes meet a tenth of the keys; 80 % update, 10 % delete, 10 % insert."""

    rows: int
    draw: random.Random = field(default_factory=lambda: random.Random(1))
    told: int = 0

    def __post_init__(self) -> None:
        self._next = self.rows
        self._gone: set[int] = set()

    def load(self, first: int, count: int) -> EventBatch:
        """Inserts of the first rows."""
        return self._batch([(Operation.INSERT, number) for number in range(first, first + count)])

    def changes(self, count: int) -> EventBatch:
        """The next batch of changes."""
        return self._batch([self._one() for _ in range(count)])

    def _one(self) -> tuple[Operation, int]:
        kind = self.draw.random()
        if kind < 0.1:
            self._next += 1
            return Operation.INSERT, self._next - 1
        hot = self.rows // 10 if self.draw.random() < 0.5 else self.rows
        number = self.draw.randrange(hot)
        if number in self._gone:
            self._gone.discard(number)
            return Operation.INSERT, number
        if kind < 0.2:
            self._gone.add(number)
            return Operation.DELETE, number
        return Operation.UPDATE, number

    def _batch(self, changes: list[tuple[Operation, int]]) -> EventBatch:
        offsets = [f"change:{self.told + place}" for place in range(len(changes))]
        self.told += len(changes)
        return EventBatch.from_columns(
            {
                "event_id": event_ids(_UID, offsets),
                "op": [int(op) for op, _ in changes],
                "source_name": "sqlite",
                "offset": offsets,
                "source_ts_ms": TS_MS,
                "ts_ms": TS_MS,
                "table_name": "customers",
                "primary_key": ["id"],
                "schema_id": CUSTOMERS.schema_id,
                "before": [
                    encode_row({"id": number}) if op is Operation.DELETE else None
                    for op, number in changes
                ],
                "before_is_key_only": [op is Operation.DELETE for op, _ in changes],
                "after": [
                    None if op is Operation.DELETE else encode_row(self._row(number))
                    for op, number in changes
                ],
            }
        )

    def _row(self, number: int) -> dict[str, Any]:
        draw = self.draw
        return {
            "id": number,
            "name": f"Customer {draw.randrange(10**9)}",
            "city": draw.choice(("Aarhus", "Bologna", "Cork", "Delft", "Evora", "Freiburg")),
            "balance_cents": draw.randrange(-(10**6), 10**6),
            "rating": draw.random(),
            "active": draw.random() < 0.9,
            "note": draw.randbytes(35).hex(),
        }


def plain(batch: EventBatch, first: int) -> pa.Table:
    """The same changes as a hand-written pipeline gets them: number, operation, key and JSON."""
    labels = pa.array([None, *(op.label for op in Operation)], pa.string())
    numbers = pa.array(range(first, first + len(batch)), pa.int64())
    return pa.table(
        {
            "sequence": numbers,
            "op": labels.take(batch.column("op")),
            "before": batch.column("before"),
            "after": batch.column("after"),
        }
    )
