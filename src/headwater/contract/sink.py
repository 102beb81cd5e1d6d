"""Sink: takes event batches somewhere else. Accepted is not durable."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from headwater.contract.capability import SinkCapabilities
from headwater.event import EventBatch


class WriteStatus(Enum):
    """How safe what was written is. Only DURABLE moves a cursor."""

    ACCEPTED = "accepted"
    DURABLE = "durable"


class Sink(Protocol):
    """Writes batches in order. Single-threaded: one delivery loop calls it."""

    @property
    def capabilities(self) -> SinkCapabilities:
        """How this sink writes."""
        ...

    def open(self) -> None:
        """Connect; raises if the destination cannot be used."""
        ...

    def write(self, batch: EventBatch) -> WriteStatus:
        """Take a batch. TransientError means try the same batch again."""
        ...

    def flush(self) -> None:
        """Return only when everything accepted is durable."""
        ...

    def close(self) -> None:
        """Release the destination. Safe to call twice."""
        ...
