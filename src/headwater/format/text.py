"""JSON text composed column by column: no Python object per row, and none per member."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import Operation

# 64-bit offsets: a batch within Arrow's 2 GiB per column may be larger once joined.
TEXT = pa.large_string()
_LABELS = pa.array(["", *(f'"{op.label}"' for op in Operation)], TEXT)
_NULL = pa.scalar(None, TEXT)


def operation(ops: pa.Array) -> pa.Array:
    """The word of each operation, quoted."""
    return pc.take(_LABELS, ops)


def join(*pieces: Any) -> pa.Array:
    """Text of each row, put together; a null piece is the word null."""
    parts = [
        pa.scalar(piece, TEXT) if isinstance(piece, str) else piece.cast(TEXT) for piece in pieces
    ]
    return pc.binary_join_element_wise(
        *parts, pa.scalar("", TEXT), null_handling="replace", null_replacement="null"
    )


def quoted(values: pa.Array) -> pa.Array:
    """JSON strings; nulls stay null. Only a column that needs escapes is looked at row by row."""
    if _needs_escapes(values):
        texts = values.to_pylist()
        return pa.array([None if t is None else encode_basestring(t) for t in texts], TEXT)
    quote = pa.scalar('"', TEXT)
    return pc.binary_join_element_wise(quote, values.cast(TEXT), quote, pa.scalar("", TEXT))


def _needs_escapes(values: pa.Array) -> bool:
    _, offsets, data = values.buffers()
    if len(values) == 0 or data is None:
        return False
    width = np.int64 if pa.types.is_large_string(values.type) else np.int32
    bounds = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1]
    octets = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    return bool(np.any((octets < 0x20) | (octets == ord('"')) | (octets == ord("\\"))))


def as_string(texts: pa.Array) -> pa.Array:
    """JSON text as a JSON string; nulls stay null. Such text has no raw control characters."""
    escaped = pc.replace_substring(texts.cast(TEXT), pattern="\\", replacement="\\\\")
    escaped = pc.replace_substring(escaped, pattern='"', replacement='\\"')
    quote = pa.scalar('"', TEXT)
    return pc.binary_join_element_wise(quote, escaped, quote, pa.scalar("", TEXT))


def where(written: pa.Array, *pieces: Any) -> pa.Array | str:
    """The pieces joined where `written` is true, and nothing elsewhere."""
    if not pc.any(written, min_count=0).as_py():
        return ""
    return pc.if_else(written, join(*pieces), pa.scalar("", TEXT))


def known(name: str, values: pa.Array | str, of: pa.Array) -> pa.Array | str:
    """A whole member, comma and name included, where `of` is not null."""
    return where(of.is_valid(), f',"{name}":', values)


def string_list(lists: pa.Array) -> pa.Array:
    """JSON arrays of strings; nulls stay null."""
    lengths = lists.value_lengths().fill_null(0)
    ends = np.concatenate([[0], np.cumsum(lengths.to_numpy(zero_copy_only=False))])
    names = quoted(lists.flatten()).fill_null("null")
    joined = pc.binary_join(
        pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), names), pa.scalar(",", TEXT)
    )
    return pc.if_else(lists.is_valid(), join("[", joined, "]"), _NULL)


def optional(name: str, lists: pa.Array) -> pa.Array | str:
    """A whole member, comma and name included; nothing where its list is empty."""
    if lists.null_count == len(lists):
        return ""
    written = pc.greater(lists.value_lengths().fill_null(0), 0)
    return where(written, f',"{name}":', string_list(lists))


def boolean(values: pa.Array) -> pa.Array:
    """The words true and false."""
    return pc.if_else(values, pa.scalar("true", TEXT), pa.scalar("false", TEXT))


def snapshot(values: pa.Array) -> pa.Array | str:
    """The snapshot objects; nulls stay null."""
    if values.null_count == len(values):
        return "null"
    text = join(
        '{"snapshot_id":', quoted(pc.struct_field(values, "snapshot_id")),
        ',"chunk_index":', pc.struct_field(values, "chunk_index"),
        ',"is_last_chunk":', boolean(pc.struct_field(values, "is_last_chunk")),
        "}",
    )  # fmt: skip
    return pc.if_else(values.is_valid(), text, _NULL)


def transaction(values: pa.Array) -> pa.Array | str:
    """The transaction objects; nulls stay null."""
    if values.null_count == len(values):
        return "null"
    text = join(
        '{"tx_id":', pc.struct_field(values, "tx_id"),
        ',"total_events":', pc.struct_field(values, "total_events"),
        ',"event_index":', pc.struct_field(values, "event_index"),
        "}",
    )  # fmt: skip
    return pc.if_else(values.is_valid(), text, _NULL)
