"""The machine's clock."""

from __future__ import annotations

import time


class SystemClock:
    """Implements contract.Clock with real time."""

    def now_ms(self) -> int:
        """Wall clock, ms since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
