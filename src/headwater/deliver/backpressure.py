"""Back-pressure: how much may be under way at once."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.event import EventBatch


@dataclass(slots=True)
class Window:
    """Counts events and bytes under way against limits; None is no limit.

    A single batch beyond a limit still passes when nothing else is under way: otherwise it never
    could.
    """

    max_events: int | None = None
    max_bytes: int | None = None
    events: int = 0
    bytes: int = 0

    @property
    def full(self) -> bool:
        """Whether nothing more may start."""
        return _reached(self.events, self.max_events) or _reached(self.bytes, self.max_bytes)

    def enter(self, batch: EventBatch) -> None:
        """Count a batch in."""
        self.events += len(batch)
        self.bytes += batch.records.nbytes

    def leave(self, batch: EventBatch) -> None:
        """Count a batch out."""
        self.events -= len(batch)
        self.bytes -= batch.records.nbytes


def _reached(amount: int, limit: int | None) -> bool:
    return limit is not None and amount >= limit
