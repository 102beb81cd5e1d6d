"""Transform: a pure function from batch to batch, the same in the capture process and on Spark."""

from __future__ import annotations

from typing import Protocol

from headwater.event import EventBatch


class Transform(Protocol):
    """Changes or drops events. Pure and picklable: executors run the same object."""

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The transformed batch; order and sequence numbers are kept."""
        ...
