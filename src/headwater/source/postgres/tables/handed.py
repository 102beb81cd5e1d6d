"""Transactions that the stream has handed on lately.

A commit is in the write-ahead log, and in the stream, a moment before other sessions see it; with
synchronous replication that moment lasts until a standby has answered. A chunk read meanwhile shows
rows as they were, and would go into the log after what became of them.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import numpy.typing as npt

from headwater.event import EventBatch
from headwater.source.postgres.tables.watermark import Visibility

# Each of the server's sessions can have one such commit; this is more than any server has.
_REMEMBERED = 65_536


class Handed:
    """The latest of them, by number."""

    def __init__(self) -> None:
        self._runs: deque[npt.NDArray[np.int64]] = deque()
        self._count = 0

    def note(self, events: EventBatch) -> None:
        """These events were handed on."""
        xids = events.column("transaction").field("tx_id").to_numpy(zero_copy_only=False)
        run = xids[np.flatnonzero(np.diff(xids, prepend=-1))]
        self._runs.append(run)
        self._count += len(run)
        while self._count - len(self._runs[0]) >= _REMEMBERED:
            self._count -= len(self._runs.popleft())

    def unseen_by(self, seen: Visibility) -> bool:
        """Whether a snapshot fails to see one of them. What one has seen, all later ones see."""
        self._runs = deque(run for run in self._runs if seen.unseen(run).any())
        self._count = sum(map(len, self._runs))
        return bool(self._runs)
