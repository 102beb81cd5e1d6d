"""Bytes composed column by column: the codes of numbers and lengths that binary carriers share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

# 64-bit offsets: a batch within Arrow's 2 GiB per column may be larger once joined.
OCTETS = pa.large_binary()
_NOTHING = pa.scalar(b"", OCTETS)
_NULL_IS_NOTHING = pc.JoinOptions(null_handling="replace", null_replacement="")


def join(*pieces: Any) -> pa.Array:
    """Bytes of each row, put together; a null piece is nothing."""
    return pc.binary_join_element_wise(*map(_octets, pieces), _NOTHING, options=_NULL_IS_NOTHING)


def _octets(piece: Any) -> Any:
    if isinstance(piece, bytes):
        return pa.scalar(piece, OCTETS)
    return piece if piece.type == OCTETS else piece.cast(OCTETS)


def where(written: pa.Array, piece: pa.Array, otherwise: bytes = b"") -> pa.Array:
    """The piece where `written` is true."""
    if pc.all(written, min_count=0).as_py():
        return piece
    return pc.if_else(written, piece, pa.scalar(otherwise, OCTETS))


def varint(numbers: pa.Array) -> pa.Array:
    """Numbers from 0, seven bits to a byte, the lowest first; null is 0."""
    return _varint(_integers(numbers).view(np.uint64))


def zigzag(numbers: pa.Array) -> pa.Array:
    """Numbers of either sign, the small ones short; null is 0."""
    values = _integers(numbers)
    return _varint(((values << 1) ^ (values >> 63)).view(np.uint64))


def concat_lists(lists: pa.Array, items: pa.Array) -> pa.Array:
    """The items of each list put together, given those of all lists in one array."""
    lengths = _integers(lists.value_lengths())
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    return pc.binary_join(pa.LargeListArray.from_arrays(ends, items), _NOTHING)


def whole(numbers: pa.Array) -> pa.Array:
    """64-bit numbers; null is 0."""
    # Small batches are many, and each call into Arrow costs them more than its work.
    if numbers.type != pa.int64():
        numbers = numbers.cast(pa.int64())
    return numbers.fill_null(0) if numbers.null_count else numbers


def _integers(numbers: pa.Array) -> npt.NDArray[np.int64]:
    values: npt.NDArray[np.int64] = whole(numbers).to_numpy()
    return values


def _varint(numbers: npt.NDArray[np.uint64]) -> pa.Array:
    bits = int(numbers.max(initial=1)).bit_length()
    septets = numbers[:, None] >> np.arange(0, bits, 7, dtype=np.uint64)
    octets = septets.astype(np.uint8) & 0x7F
    octets |= (septets > 0x7F).astype(np.uint8) << 7  # the eighth bit: another byte follows
    written = septets > 0
    written[:, 0] = True
    ends = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(written.sum(axis=1), out=ends[1:])
    data = [None, pa.py_buffer(ends), pa.py_buffer(octets[written])]
    return pa.Array.from_buffers(OCTETS, len(numbers), data)
