"""Where the rows lie in the answer to a COPY: one message each, whatever they hold. Pure: no I/O.

A row in text form ends with a newline and has none inside. So the newlines before a message's
letter are nearly all that must be looked at, and the lengths prove the guess for all rows at once.
Where a length's own bytes look like such an end, or the server speaks of something else in between,
the messages are walked one by one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from headwater.errors import CorruptionError
from headwater.source.postgres.decode.spans import Bytes, Places

_HEAD = 5
_BEGUN, _DATA, _ERROR, _NEWLINE = b"HdE\n"
_READY = b"Z\0\0\0\5"
# Behind the last row: that it was the last, how many there were, and ready again.
_DONE = re.compile(rb"c\x00{3}\x04C\x00{3}.COPY \d+\x00Z\x00{3}\x05.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CopyAnswer:
    """Row i is raw[starts[i]:ends[i]]; `error` is what the server refused the rest with."""

    starts: Places
    ends: Places
    error: bytes | None = None


def is_whole(data: bytes | bytearray, size: int) -> bool:
    """Whether the answer's first `size` bytes are all of it.

    No text holds a zero byte and no message is that long, so nothing else reads like its end.
    """
    return size > len(_READY) and data[size - len(_READY) - 1 : size - 1] == _READY


def read_answer(raw: Bytes) -> CopyAnswer:
    """The rows of a whole answer."""
    return _guessed(raw) or _walked(raw)


def _guessed(raw: Bytes) -> CopyAnswer | None:
    if raw[0] != _BEGUN:
        return None
    first = 1 + int.from_bytes(raw[1:_HEAD].tobytes(), "big")
    newlines = np.flatnonzero(raw[first:] == _NEWLINE) + first
    if len(newlines) == 0 or not _DONE.fullmatch(raw[newlines[-1] + 1 :].tobytes()):
        return None
    inner = newlines[:-1]
    ends = np.append(inner[raw[inner + 1] == _DATA], newlines[-1]) + 1
    begins = np.concatenate(([first], ends[:-1]))
    if (begins + _HEAD > ends).any() or raw[first] != _DATA:
        return None
    lengths = np.zeros(len(begins), np.int64)
    for place in range(1, _HEAD):
        lengths = lengths << 8 | raw[begins + place]
    return CopyAnswer(begins + _HEAD, ends) if (begins + 1 + lengths == ends).all() else None


def _walked(raw: Bytes) -> CopyAnswer:
    data, place = raw.tobytes(), 0
    starts: list[int] = []
    ends: list[int] = []
    error = None
    while place < len(data):
        end = place + 1 + int.from_bytes(data[place + 1 : place + _HEAD], "big")
        if not place + _HEAD <= end <= len(data):
            raise CorruptionError("postgres-protocol", "malformed COPY data: a message is cut off")
        if data[place] == _DATA:
            starts.append(place + _HEAD)
            ends.append(end)
        elif data[place] == _ERROR:
            error = data[place + _HEAD : end]
        place = end
    return CopyAnswer(np.array(starts, np.int64), np.array(ends, np.int64), error)
