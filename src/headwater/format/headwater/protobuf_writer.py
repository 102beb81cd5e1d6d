"""Messages of proto/event.proto, composed column by column.

A field is its tag and its value, in the order of the fields' numbers. What is null is left out, and
so is what has the default of a field that cannot tell the two apart.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import ENVELOPE_VERSION, EventBatch
from headwater.format.octets import concat_lists, join, varint, where, whole

_NUMBER, _LENGTH = 0, 2  # wire types: a number, or as many bytes as a number says


def _tag(number: int, kind: int) -> bytes:
    key = number << 3 | kind
    return bytes([key]) if key < 0x80 else bytes([key & 0x7F | 0x80, key >> 7])


_VERSION = _tag(11, _NUMBER) + bytes([ENVELOPE_VERSION])


def events(batch: EventBatch, before: pa.Array, after: pa.Array) -> pa.Array:
    """A message for each event."""
    column = batch.column
    return join(
        _optional(1, before),
        _optional(2, after),
        _number(3, column("op")),
        _optional(4, _source(batch)),
        _number(5, column("ts_ms")),
        _optional(6, column("table_schema")),
        _text(7, column("table_name")),
        _names(8, column("primary_key")),
        _snapshot(9, column("snapshot")),
        _transaction(10, column("transaction")),
        _VERSION,
        _number(12, column("before_is_key_only")),
        _names(13, column("unavailable_columns")),
        _names(14, column("before_unavailable_columns")),
        _optional(1000, column("extra")),
    )


def _optional(number: int, values: pa.Array) -> pa.Array | bytes:
    """A field that knows null from empty; messages are such fields too."""
    if values.null_count == len(values):
        return b""
    return where(values.is_valid(), _delimited(number, values))


def _text(number: int, values: pa.Array) -> pa.Array:
    """A field that is left out where it is empty."""
    return where(pc.greater(pc.binary_length(values), 0), _delimited(number, values))


def _number(number: int, values: pa.Array) -> pa.Array:
    """A field that is left out where it is 0."""
    numbers = whole(values)
    field = join(_tag(number, _NUMBER), varint(numbers))
    return where(pc.greater(numbers, 0), field)


def _delimited(number: int, values: pa.Array) -> pa.Array:
    return join(_tag(number, _LENGTH), varint(pc.binary_length(values)), values)


def _names(number: int, lists: pa.Array) -> pa.Array | bytes:
    if lists.null_count == len(lists):
        return b""
    return concat_lists(lists, _delimited(number, lists.flatten()))


def _source(batch: EventBatch) -> pa.Array:
    return join(
        _text(1, batch.column("source_name")),
        _text(2, batch.column("offset")),
        _number(3, batch.column("source_ts_ms")),
    )


def _snapshot(number: int, values: pa.Array) -> pa.Array | bytes:
    if values.null_count == len(values):
        return b""
    block = join(
        _text(1, pc.struct_field(values, "snapshot_id").fill_null("")),
        _number(2, pc.struct_field(values, "chunk_index")),
        _number(3, pc.struct_field(values, "is_last_chunk")),
    )
    return where(values.is_valid(), _delimited(number, block))


def _transaction(number: int, values: pa.Array) -> pa.Array | bytes:
    if values.null_count == len(values):
        return b""
    names = enumerate(("tx_id", "total_events", "event_index"), 1)
    block = join(*(_number(place, pc.struct_field(values, name)) for place, name in names))
    return where(values.is_valid(), _delimited(number, block))
