"""The envelope around typed rows: every member but the images."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from headwater.event import EVENT_SCHEMA, EventBatch, Operation
from headwater.format.columns import UINT31, EnvelopeColumns
from headwater.format.headwater.avro_writer import datums
from headwater.format.octets import join
from headwater.format.typed.pack import packed

RANGES = {
    "snapshot.chunk_index": UINT31,
    "transaction.total_events": UINT31,
    "transaction.event_index": UINT31,
}
_NUMBERS = {op.name: int(op) for op in Operation}
_EXTRA = EVENT_SCHEMA.get_field_index("extra")
_snapshot = itemgetter("snapshot_id", "chunk_index", "is_last_chunk")
_transaction = itemgetter("tx_id", "total_events", "event_index")

Member = dict[str, Any]


def packed_members(batch: EventBatch, before: pa.Array, after: pa.Array) -> pa.Array:
    """Avro's bytes of every member behind the rows, with the images that stay JSON.

    These are the members of `headwater-avro` in its order, and the column `extra`.
    """
    nothing = pa.nulls(len(batch), pa.string())
    bare = EventBatch(batch.records.set_column(_EXTRA, EVENT_SCHEMA.field(_EXTRA), nothing))
    members = datums(bare, before, after, lists=True)
    return join(members, packed(["null", "string"], batch.column("extra")))


def to_columns(
    members: Sequence[Member], befores: Sequence[str | None], afters: Sequence[str | None]
) -> EnvelopeColumns:
    """The members of records by field."""

    def each(name: str) -> list[Any]:
        return [member[name] for member in members]

    sources = each("source")
    return EnvelopeColumns(
        before=befores,
        after=afters,
        op=[_NUMBERS[name] for name in each("op")],
        source_name=[source["source_name"] for source in sources],
        offset=[source["offset"] for source in sources],
        source_ts_ms=[source["timestamp"] for source in sources],
        ts_ms=each("ts"),
        schema=each("schema"),
        table=each("table"),
        primary_key=each("primary_key"),
        snapshot=[block and _snapshot(block) for block in each("snapshot")],
        transaction=[block and _transaction(block) for block in each("transaction")],
        envelope_version=each("envelope_version"),
        before_is_key_only=each("before_is_key_only"),
        unavailable_columns=each("unavailable_columns"),
        before_unavailable_columns=each("before_unavailable_columns"),
    )
