"""Clock and Metrics: what the engines need of the world outside, small enough to script."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time and waiting, so that tests own both."""

    def now_ms(self) -> int:
        """Wall clock, ms since the epoch: for people and for event times."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back: for durations."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class Metrics(Protocol):
    """Counters and gauges. Labels hold names of parts and tables, never values (INV-12)."""

    def count(self, name: str, amount: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        ...

    def gauge(self, name: str, value: float, /, **labels: str) -> None:
        """Set a gauge."""
        ...

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add one observation to a histogram or a summary."""
        ...
