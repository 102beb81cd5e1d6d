"""FakeClock: time that moves only when someone sleeps or a test says so."""

from __future__ import annotations

import threading
import time


class FakeClock:
    """Implements contract.Clock. Sleeping costs no time, moves the clock, and is written down.

    Each sleep gives other threads a turn, so that a loop which waits for another one makes
    progress instead of spinning.
    """

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = start_ms
        self._elapsed_s = 0.0
        self._lock = threading.Lock()
        self.sleeps: list[float] = []

    def now_ms(self) -> int:
        """Wall clock."""
        return self._start_ms + int(self.monotonic_s() * 1000)

    def monotonic_s(self) -> float:
        """Seconds since the clock was made."""
        with self._lock:
            return self._elapsed_s

    def sleep(self, seconds: float) -> None:
        """Move the clock on at once."""
        with self._lock:
            self.sleeps.append(seconds)
            self._elapsed_s += seconds
        time.sleep(0.0005)

    def advance(self, seconds: float) -> None:
        """Let time pass without anyone sleeping."""
        with self._lock:
            self._elapsed_s += seconds
