"""At most so many rows per second."""

from __future__ import annotations

import time


class Throttle:
    """Rows that were read must be paid for with time before more may be read."""

    def __init__(self) -> None:
        self._free_at = 0.0

    def ready(self) -> bool:
        """Whether rows may be read now."""
        return time.monotonic() >= self._free_at

    def spent(self, rows: int, rows_per_s: int | None) -> None:
        """So many rows were read, where so many may be each second; None or 0 is no limit."""
        if rows_per_s:
            self._free_at = time.monotonic() + rows / rows_per_s

    def lift(self) -> None:
        """Forget the debt: the limit has changed."""
        self._free_at = 0.0
