"""Format: one wire form of the event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from headwater.event import EventBatch


class Format(Protocol):
    """Encodes a batch to one record per event, and decodes it back without loss."""

    @property
    def name(self) -> str:
        """The name that configuration and CLI use, for example `headwater-json`."""
        ...

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        ...

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """One record per event, in order."""
        ...

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events of the records; a bad record raises DataError and names its place."""
        ...
