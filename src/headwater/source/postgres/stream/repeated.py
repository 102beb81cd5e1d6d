"""What a look at a slot shows again, told from what is new by the places of commits. Pure: no I/O.

Every look begins where the slot was confirmed and goes on in the order of commits. So whatever was
handed on before is the first part of it. A table that is described only there needs no second
description: the reader has had it from the look that handed the same transaction on.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_BEGIN, _MESSAGE = b"BM"

Numbers = npt.NDArray[np.int64]


class Repeated:
    """Knows the last commit that was handed on; at first, all commits before `lsn` are."""

    def __init__(self, lsn: int) -> None:
        self._seen = lsn - 1
        self._passed = False

    def look_again(self) -> None:
        """The next messages are those of a new look."""
        self._passed = False

    def first_new(self, buffer: bytes, starts: Numbers) -> int:
        """The first of these messages that is new; their number if none is."""
        messages, commits = _commits(buffer, starts)
        first = 0
        if not self._passed:
            new = messages[commits > self._seen]
            self._passed = len(new) > 0
            first = int(new[0]) if self._passed else len(starts)
        if len(commits):
            self._seen = max(self._seen, int(commits[-1]))
        return first


def _commits(buffer: bytes, starts: Numbers) -> tuple[Numbers, Numbers]:
    """Where transactions begin, and messages that belong to none; and their places in the log.

    A transaction's place is that of its commit, so the places ascend.
    """
    view = np.frombuffer(buffer, np.uint8)
    tags = view[starts]
    begins = tags == _BEGIN
    # The flag after the tag tells a message inside a transaction.
    alone = (tags == _MESSAGE) & (view[np.minimum(starts + 1, len(view) - 1)] == 0)
    messages = np.flatnonzero(begins | alone)
    places = starts[messages] + np.where(begins[messages], 1, 2)
    eight = np.ascontiguousarray(view[places[:, None] + np.arange(8)])
    return messages, eight.view(">i8").ravel().astype(np.int64)
