"""Slices of one buffer as an Arrow array, and an Arrow array's bytes as NumPy sees them.

Every decoder here finds where values begin and end with NumPy, and needs the values one after the
other in an array. No Python object is made per value in either direction.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Block = bytes | memoryview


def gather(data: Block, starts: Places, ends: Places, valid: Flags | None = None) -> pa.Array:
    """The slices `data[starts[i]:ends[i]]` as a binary array; those not valid are null.

    Slices must come in the order of the buffer and must not overlap. Then the buffer itself, cut at
    every start and every end, is an array of slices and gaps, and taking every second one copies
    the slices at the speed of C.
    """
    count = len(starts)
    if count == 0:
        return pa.array([], pa.binary())
    cuts = np.empty(2 * count, dtype=np.int32)
    cuts[0::2] = starts
    cuts[1::2] = ends
    pieces = _array(pa.binary(), 2 * count - 1, None, cuts, pa.py_buffer(data))
    values = pieces.take(pa.array(np.arange(0, 2 * count, 2, dtype=np.int32)))
    if valid is None or valid.all():
        return values
    _, offsets, content = values.buffers()
    return _array(pa.binary(), count, valid, offsets, content)


def content(array: pa.Array) -> Bytes:
    """All bytes of a binary or string array's values, without a copy."""
    offsets = places(array)
    raw = array.buffers()[2]
    if raw is None:
        return np.zeros(0, dtype=np.uint8)
    return np.frombuffer(raw, dtype=np.uint8)[offsets[0] : offsets[-1]]


def places(array: pa.Array) -> npt.NDArray[np.int32]:
    """The offsets of a binary or string array: value i lies between i and i + 1."""
    if len(array) == 0:
        return np.zeros(1, dtype=np.int32)
    raw = np.frombuffer(array.buffers()[1], dtype=np.int32)
    return raw[array.offset : array.offset + len(array) + 1]


def rebuilt(like: pa.Array, offsets: npt.NDArray[np.int32], data: Bytes | bytes) -> pa.Array:
    """A string array of these bytes, null where `like` is. The bytes must be UTF-8."""
    valid = None
    if like.null_count:
        valid = like.is_valid().to_numpy(zero_copy_only=False)
    return _array(pa.string(), len(like), valid, offsets, pa.py_buffer(data))


def _array(
    kind: pa.DataType,
    count: int,
    valid: Flags | None,
    offsets: npt.NDArray[np.int32] | pa.Buffer,
    data: pa.Buffer,
) -> pa.Array:
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, count, [bitmap, pa.py_buffer(offsets), data])
