"""At most so many rows per second."""

from __future__ import annotations

import time


class Throttle:
    """Rows that were read must be paid for with time before more may be read."""

    def __init__(self, rows_per_s: int | None) -> None:
        self._rows_per_s = rows_per_s
        self._free_at = 0.0

    def ready(self) -> bool:
        """Whether rows may be read now."""
        return time.monotonic() >= self._free_at

    def spent(self, rows: int) -> None:
        """So many rows were read."""
        if self._rows_per_s:
            self._free_at = time.monotonic() + rows / self._rows_per_s
