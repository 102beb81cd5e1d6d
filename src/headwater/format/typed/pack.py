"""Avro's bytes of a column of values, by the values' Avro type: no Python object per row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.format.octets import OCTETS, concat_lists, join, where, zigzag

_NULL, _VALUE, _END = b"\x00", b"\x02", b"\x00"


def packed(avro: Any, values: pa.Array) -> pa.Array:
    """The bytes of each value. Nulls have bytes of their own in a union, and none elsewhere."""
    match avro:
        case ["null", kind]:
            return where(values.is_valid(), join(_VALUE, packed(kind, values)), _NULL)
        case {"type": "array", "items": items}:
            return _lists(items, values)
        case {"type": kind}:
            return packed(kind, values)
        case "boolean":
            return pc.if_else(values, pa.scalar(b"\x01", OCTETS), pa.scalar(b"\x00", OCTETS))
        case "int" | "long":
            return zigzag(values)
        case "float" | "double":
            return _fixed(values, "<f4" if avro == "float" else "<f8")
        case _:
            return join(zigzag(pc.binary_length(values)), values)


def packed_record(columns: list[tuple[Any, pa.Array]], count: int) -> pa.Array:
    """The bytes of records: their fields, one after the other."""
    if not columns:
        return pa.repeat(pa.scalar(b"", OCTETS), count)
    return join(*(packed(avro, values) for avro, values in columns))


def placed(records: pa.Array, places: list[int], count: int) -> pa.Array | bytes:
    """The bytes of optional records, of which those at `places` among `count` are there."""
    if not places:
        return _NULL
    if len(places) == count:
        return join(_VALUE, records)
    row = np.full(count, -1, np.int64)
    row[places] = np.arange(len(places))
    found = pc.take(records, pa.array(row, mask=row < 0))
    return where(found.is_valid(), join(_VALUE, found), _NULL)


def _lists(items: Any, values: pa.Array) -> pa.Array:
    counts = values.value_lengths().fill_null(0)
    bodies = concat_lists(values, packed(items, values.flatten()))
    return where(pc.greater(counts, 0), join(zigzag(counts), bodies, _END), _END)


def _fixed(values: pa.Array, code: str) -> pa.Array:
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False).astype(code)
    kind = pa.binary(numbers.itemsize)
    data = [None, pa.py_buffer(numbers.tobytes())]
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(numbers), data).cast(OCTETS)
