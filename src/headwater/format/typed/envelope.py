"""The envelope around typed rows: every member but the images."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from headwater.event import ENVELOPE_VERSION, EventBatch, Operation
from headwater.format.columns import UINT31, EnvelopeColumns

RANGES = {
    "snapshot.chunk_index": UINT31,
    "transaction.total_events": UINT31,
    "transaction.event_index": UINT31,
}
_SNAPSHOT, _TRANSACTION = "io.rustcdc.SnapshotMetadata", "io.rustcdc.TransactionMetadata"
_SYMBOLS = ("", *(op.name for op in Operation))
_NUMBERS = {op.name: int(op) for op in Operation}
_SAME = {
    "ts": "ts_ms",
    "schema": "table_schema",
    "table": "table_name",
    "before_is_key_only": "before_is_key_only",
    "extra": "extra",
}
_LISTS = ("primary_key", "unavailable_columns", "before_unavailable_columns")
_snapshot = itemgetter("snapshot_id", "chunk_index", "is_last_chunk")
_transaction = itemgetter("tx_id", "total_events", "event_index")

Member = dict[str, Any]


def to_members(batch: EventBatch) -> list[Member]:
    """The members of each event, as the Avro record has them."""
    column = {name: batch.column(name).to_pylist() for name in batch.records.schema.names}
    members: dict[str, Sequence[Any]] = {name: column[ours] for name, ours in _SAME.items()}
    members |= {name: [names or [] for names in column[name]] for name in _LISTS}
    members["op"] = [_SYMBOLS[op] for op in column["op"]]
    members["source"] = [
        {"source_name": name, "offset": offset, "timestamp": ms}
        for name, offset, ms in zip(
            column["source_name"], column["offset"], column["source_ts_ms"], strict=True
        )
    ]
    # Naming a union's branch spares fastavro the search for the one that fits.
    members["snapshot"] = [block and (_SNAPSHOT, block) for block in column["snapshot"]]
    members["transaction"] = [
        block and (_TRANSACTION, {**block, "total_events": block["total_events"] or 0})
        for block in column["transaction"]
    ]
    members["envelope_version"] = [ENVELOPE_VERSION] * len(batch)
    return [dict(zip(members, row, strict=True)) for row in zip(*members.values(), strict=True)]


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
