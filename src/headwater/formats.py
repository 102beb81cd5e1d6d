"""Wire formats by name: events to records, records to events, and so any format to any other.

    batch = headwater.formats.decode(records, "debezium")
    records = headwater.formats.encode(batch, "opencdc")

Nothing is lost on the way: what a format has no field for travels with the event, and stands in
the record again when it goes back to the format that it came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from headwater.app.registry import default_registry

if TYPE_CHECKING:
    from headwater.contract import Format
    from headwater.event import EventBatch

__all__ = ["decode", "encode", "get", "names"]


def names() -> tuple[str, ...]:
    """The names of the formats."""
    return default_registry().names()["formats"]


def get(name: str) -> Format:
    """The format of this name; a ConfigError names the nearest if there is none."""
    return default_registry().format(name)


def encode(batch: EventBatch, name: str) -> Sequence[bytes]:
    """One record per event, in order; what the format cannot say is a DataError."""
    return get(name).encode(batch)


def decode(records: Iterable[bytes], name: str) -> EventBatch:
    """The events of the records; one that is not of the format is a DataError with its index."""
    return get(name).decode(records)
