"""Gulps between the thread that receives and the one that decodes.

A batch has a fixed price however few changes it holds. So the reader takes everything that waits at
once: near the head batches are as small as the reader is quick, and under load they grow.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from threading import Condition

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

GULP_MESSAGES = 20_000
# More than this waiting holds the server back: the reader cannot keep up, and memory is finite.
_WAITING_MESSAGES = 3 * GULP_MESSAGES
_WAITING_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Gulp:
    """Messages in the order of the stream: payload i is buffer[starts[i]:ends[i]].

    `reached` is the log position up to which the server has sent everything; 0 if it did not say.
    """

    buffer: bytes
    starts: Numbers
    ends: Numbers
    reached: int


class Mailbox:
    """A bounded queue of gulps that is emptied by one taking."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._gulps: deque[Gulp] = deque()
        self._messages = 0
        self._bytes = 0
        self._failure: BaseException | None = None

    def put(self, gulp: Gulp, timeout_s: float) -> bool:
        """Leave a gulp; False if there was no room within the time."""
        with self._changed:
            if not self._changed.wait_for(self._has_room, timeout_s):
                return False
            self._gulps.append(gulp)
            self._messages += len(gulp.starts)
            self._bytes += len(gulp.buffer)
            self._changed.notify_all()
            return True

    def _has_room(self) -> bool:
        return self._messages < _WAITING_MESSAGES and self._bytes < _WAITING_BYTES

    def fail(self, failure: BaseException) -> None:
        """Nothing more will come; whoever has taken the rest gets the reason."""
        with self._changed:
            self._failure = failure
            self._changed.notify_all()

    def take(self, timeout_s: float) -> Gulp | None:
        """What waits, up to about one full gulp; None if nothing came within the time."""
        with self._changed:
            self._changed.wait_for(lambda: self._gulps or self._failure, timeout_s)
            if not self._gulps:
                if self._failure is not None:
                    raise self._failure
                return None
            taken = [self._next()]
            count = len(taken[0].starts)
            while self._gulps and count + len(self._gulps[0].starts) <= GULP_MESSAGES:
                taken.append(self._next())
                count += len(taken[-1].starts)
            self._changed.notify_all()
        return taken[0] if len(taken) == 1 else _joined(taken)

    def _next(self) -> Gulp:
        gulp = self._gulps.popleft()
        self._messages -= len(gulp.starts)
        self._bytes -= len(gulp.buffer)
        return gulp


def _joined(gulps: list[Gulp]) -> Gulp:
    lengths = np.array([len(gulp.buffer) for gulp in gulps], np.int64)
    shifts = np.cumsum(lengths) - lengths
    return Gulp(
        b"".join(gulp.buffer for gulp in gulps),
        np.concatenate([gulp.starts + shift for gulp, shift in zip(gulps, shifts, strict=True)]),
        np.concatenate([gulp.ends + shift for gulp, shift in zip(gulps, shifts, strict=True)]),
        max(gulp.reached for gulp in gulps),
    )
