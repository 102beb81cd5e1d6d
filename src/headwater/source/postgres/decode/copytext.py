r"""Rows of COPY's text form, split into columns many rows at a time. Pure: no I/O.

A tab ends a value, a newline a row, `\N` is NULL; inside values both are written as escapes, so the
separators alone tell where everything lies.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headwater.errors import CorruptionError
from headwater.source.postgres.decode.spans import Block, Flags, Places, content, gather, places

_TAB, _NEWLINE, _BACKSLASH = b"\t\n\\"
_MEANING = np.zeros(256, dtype=np.uint8)  # the byte that an escape stands for; 0: no such escape
for _letter, _byte in zip(b"bfnrtv\\", b"\b\f\n\r\t\v\\", strict=True):
    _MEANING[_letter] = _byte


def split_copy(data: Block, columns: int) -> list[pa.Array]:
    """The columns of whole lines of COPY output, as binary arrays; NULL is null."""
    raw = np.frombuffer(data, dtype=np.uint8)
    separators = np.flatnonzero((raw == _TAB) | (raw == _NEWLINE))
    if len(raw) and raw[-1] != _NEWLINE:
        raise _malformed("the last line has no end")
    if columns == 0:
        return []
    if len(separators) % columns:
        raise _malformed("a line has not its table's columns")
    ends = separators.reshape(-1, columns)
    if (raw[ends[:, -1]] != _NEWLINE).any() or (raw[ends[:, :-1]] != _TAB).any():
        raise _malformed("a line has not its table's columns")
    starts = np.concatenate(([0], separators + 1))[:-1].reshape(-1, columns)
    return [_column(data, starts[:, number], ends[:, number]) for number in range(columns)]


def _column(data: Block, starts: Places, ends: Places) -> pa.Array:
    null = _nulls(data, starts, ends)
    values = gather(data, np.where(null, ends, starts), ends, ~null)
    return _unescaped(values)


def _nulls(data: Block, starts: Places, ends: Places) -> Flags:
    raw = np.frombuffer(data, dtype=np.uint8)
    null: Flags = np.equal(ends - starts, 2)
    pairs = starts[null]
    null[null] = (raw[pairs] == _BACKSLASH) & (raw[pairs + 1] == ord("N"))
    return null


def _unescaped(values: pa.Array) -> pa.Array:
    """Put each escape's byte in its place."""
    raw = content(values)
    slashes = np.flatnonzero(raw == _BACKSLASH)
    if len(slashes) == 0:
        return values
    openers = _openers(slashes)
    opens = np.zeros(len(raw), np.bool_)
    opens[openers] = True
    offsets = places(values) - places(values)[0]
    if opens[offsets[offsets > 0] - 1].any():
        raise _malformed("a value ends within an escape")
    meaning = _MEANING[raw[openers + 1]]
    if not meaning.all():
        raise _malformed("an escape is unknown")
    plain = raw.copy()
    plain[openers + 1] = meaning
    shorter = offsets - np.searchsorted(openers, offsets)
    validity = values.buffers()[0]
    buffers = [
        validity,
        pa.py_buffer(shorter.astype(np.int32)),
        pa.py_buffer(plain[~opens]),
    ]
    return pa.Array.from_buffers(pa.binary(), len(values), buffers)


def _openers(slashes: Places) -> Places:
    """The backslashes that begin an escape: in a run of them, every second one is its content."""
    first = np.concatenate(([True], np.diff(slashes) != 1))
    run_start = np.maximum.accumulate(np.where(first, slashes, 0))
    return np.extract((slashes - run_start) % 2 == 0, slashes)


def _malformed(reason: str) -> CorruptionError:
    return CorruptionError("postgres-protocol", f"malformed COPY data: {reason}")
