"""Meter: events per second over the last seconds."""

from __future__ import annotations

from collections import deque

from headwater.contract import Clock


class Meter:
    """A sliding window of one-second buckets: no decay to explain, zero when nothing happens."""

    def __init__(self, clock: Clock, window_s: int = 10) -> None:
        self._clock = clock
        self._window_s = window_s
        self._buckets: deque[tuple[int, int]] = deque(maxlen=window_s + 1)
        self._born_s = clock.monotonic_s()
        self.total = 0

    def add(self, count: int) -> None:
        """Count events."""
        self.total += count
        second = int(self._clock.monotonic_s())
        if self._buckets and self._buckets[-1][0] == second:
            count += self._buckets.pop()[1]
        self._buckets.append((second, count))

    def per_second(self) -> float:
        """Events per second over the window, or since birth if that is shorter."""
        now_s = self._clock.monotonic_s()
        span_s = min(self._window_s, max(now_s - self._born_s, 1.0))
        recent = sum(count for second, count in tuple(self._buckets) if second > now_s - span_s - 1)
        return recent / span_s
