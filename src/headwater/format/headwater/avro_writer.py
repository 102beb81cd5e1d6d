"""Bare datums of the envelope's own two Avro schemas, composed column by column.

A datum has no names and no tags: its fields stand one after the other, in the schema's order. A
union begins with its branch, a text or a list with its length, and a list ends with a zero.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import ENVELOPE_VERSION, EventBatch, Operation
from headwater.format.octets import OCTETS, concat_lists, join, where, zigzag

_NULL, _VALUE, _END = b"\x00", b"\x02", b"\x00"
_SYMBOLS = pa.array([b"", *(bytes([2 * (op - 1)]) for op in Operation)], OCTETS)
_VERSION = bytes([2 * ENVELOPE_VERSION])


def datums(batch: EventBatch, before: pa.Array, after: pa.Array, *, lists: bool) -> pa.Array:
    """A datum for each event; `lists` tells whether the schema has the unavailable columns."""
    column = batch.column
    return join(
        _optional(before),
        _optional(after),
        pc.take(_SYMBOLS, column("op")),
        _text(column("source_name")),
        _text(column("offset")),
        zigzag(column("source_ts_ms")),
        zigzag(column("ts_ms")),
        _optional(column("table_schema")),
        _text(column("table_name")),
        _names(column("primary_key")),
        _snapshot(column("snapshot")),
        _transaction(column("transaction")),
        _VERSION,
        _boolean(column("before_is_key_only")),
        *(_names(column(f"{image}unavailable_columns")) for image in ("", "before_") if lists),
        _extra(column("extra")),
    )


def _text(values: pa.Array) -> pa.Array:
    return join(zigzag(pc.binary_length(values)), values)


def _optional(values: pa.Array) -> pa.Array | bytes:
    if values.null_count == len(values):
        return _NULL
    return where(values.is_valid(), join(_VALUE, _text(values)), _NULL)


def _names(lists: pa.Array) -> pa.Array | bytes:
    if lists.null_count == len(lists):
        return _END
    counts = lists.value_lengths().fill_null(0)
    items = concat_lists(lists, _text(lists.flatten()))
    return where(pc.greater(counts, 0), join(zigzag(counts), items, _END), _END)


def _boolean(values: pa.Array) -> pa.Array:
    return pc.if_else(values, pa.scalar(b"\x01", OCTETS), pa.scalar(b"\x00", OCTETS))


def _snapshot(values: pa.Array) -> pa.Array | bytes:
    if values.null_count == len(values):
        return _NULL
    block = join(
        _VALUE,
        _text(pc.struct_field(values, "snapshot_id")),
        zigzag(pc.struct_field(values, "chunk_index")),
        _boolean(pc.struct_field(values, "is_last_chunk")),
    )
    return where(values.is_valid(), block, _NULL)


def _transaction(values: pa.Array) -> pa.Array | bytes:
    if values.null_count == len(values):
        return _NULL
    parts = (pc.struct_field(values, name) for name in ("tx_id", "total_events", "event_index"))
    return where(values.is_valid(), join(_VALUE, *map(zigzag, parts)), _NULL)


def _extra(values: pa.Array) -> pa.Array | bytes:
    if values.null_count == len(values):
        return b""
    return where(values.is_valid(), _text(values))
