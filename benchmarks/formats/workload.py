"""The events of the benchmark, and the same events as each library wants to have them."""

from __future__ import annotations

import random
from typing import Any

import orjson

from benchmarks.rows import customers
from headwater import formats
from headwater.event import EventBatch, Operation

EVENTS = 20_000
Row = dict[str, Any]

# What fastavro calls the branch of a union: named, it need not search.
_BLOCKS = {
    "snapshot": "io.rustcdc.SnapshotMetadata",
    "transaction": "io.rustcdc.TransactionMetadata",
}


def changes(count: int = EVENTS) -> EventBatch:
    """Half updates with both images, a third inserts, the rest deletes, in transactions of 100."""
    old, new = customers(1, count, seed=1), customers(1, count, seed=2)
    draw = random.Random(3)
    ops = draw.choices((Operation.UPDATE, Operation.INSERT, Operation.DELETE), (3, 2, 1), k=count)
    befores = old.column("after").to_pylist()
    afters = new.column("after").to_pylist()
    blocks = [
        {"tx_id": 700 + n // 100, "total_events": 100, "event_index": n % 100} for n in range(count)
    ]
    return EventBatch.from_columns(
        {name: new.column(name) for name in new.records.schema.names}
        | {
            "op": list(map(int, ops)),
            "source_name": "postgres",
            "table_schema": "public",
            "before": [
                None if op is Operation.INSERT else b for op, b in zip(ops, befores, strict=True)
            ],
            "after": [
                None if op is Operation.DELETE else a for op, a in zip(ops, afters, strict=True)
            ],
            "transaction": blocks,
        }
    )


def json_members(batch: EventBatch, name: str) -> list[Row]:
    """Whole records as parsed values, row images included: what orjson is given to write."""
    return [orjson.loads(record) for record in formats.encode(batch, name)]


def avro_members(batch: EventBatch) -> list[Row]:
    """Datums as fastavro takes them, row images as bytes, branches named."""
    members = []
    for row in json_members(batch, "headwater-json"):
        for image in ("before", "after"):
            row[image] = None if row[image] is None else orjson.dumps(row[image])
        for block, branch in _BLOCKS.items():
            row[block] = None if row[block] is None else (branch, row[block])
        row["op"] = row["op"].upper()
        row["primary_key"] = row["primary_key"] or []
        row["unavailable_columns"] = row["before_unavailable_columns"] = []
        members.append(row)
    return members


def protobuf_members(batch: EventBatch) -> list[Row]:
    """Arguments of the message's constructor, row images as bytes."""
    members = avro_members(batch)
    for row in members:
        for block in _BLOCKS:
            row[block] = None if row[block] is None else row[block][1]
    return members
