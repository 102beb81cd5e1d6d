"""The same rows for every benchmark: about 300 bytes of JSON each, seeded."""

from __future__ import annotations

import random

from headwater.event import EventBatch, Operation, encode_row, event_ids
from headwater.testing.builders import TS_MS

SOURCE_UID = "benchmark"


def customers(first: int, count: int, *, seed: int = 1) -> EventBatch:
    """`count` inserts of customers with ids from `first`."""
    draw = random.Random(seed + first)
    offsets = [f"change:{number}" for number in range(first, first + count)]
    return EventBatch.from_columns(
        {
            "event_id": event_ids(SOURCE_UID, offsets),
            "op": int(Operation.INSERT),
            "source_name": "sqlite",
            "offset": offsets,
            "source_ts_ms": TS_MS,
            "ts_ms": [TS_MS + number for number in range(count)],
            "table_name": "customers",
            "primary_key": ["id"],
            "after": [
                encode_row(_customer(number, draw)) for number in range(first, first + count)
            ],
        }
    )


def _customer(number: int, draw: random.Random) -> dict[str, object]:
    return {
        "id": number,
        "name": f"Customer {draw.randrange(10**9)}",
        "email": f"customer.{draw.randrange(10**9)}@shop.example",
        "city": draw.choice(("Aarhus", "Bologna", "Cork", "Delft", "Evora", "Freiburg")),
        "balance_cents": draw.randrange(-(10**6), 10**6),
        "rating": draw.random(),
        "active": draw.random() < 0.9,
        "note": draw.randbytes(70).hex(),
    }
