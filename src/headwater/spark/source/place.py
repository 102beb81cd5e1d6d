"""Places in a log, as people name them, and the sequence numbers that they stand for.

What is after a place is read. A sequence number and a position are the last event before it. A time
stands for the cut before the first transaction with an event of that time or later, so that the end
of one read is the start of the next, with nothing missing and nothing twice; commit times may run
backwards, and it is the order of the log that counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Final, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import LogReader, SegmentInfo
from headwater.errors import ConfigError
from headwater.event import EventBatch


class PlaceKind(Enum):
    """How a place is named."""

    EARLIEST = auto()
    LATEST = auto()
    SEQUENCE = auto()
    TIME = auto()
    POSITION = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """A place by name: a sequence number, milliseconds since 1970, or the text of a position."""

    kind: PlaceKind
    value: int | str = 0


EARLIEST: Final = Place(PlaceKind.EARLIEST)
LATEST: Final = Place(PlaceKind.LATEST)


def at_time(text: str) -> Place:
    """The place of an ISO 8601 time, in UTC if it names no zone; ValueError if it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
    return Place(PlaceKind.TIME, -(-microseconds // 1000))


_MICROSECOND = datetime.resolution


def sequence_at(reader: LogReader, place: Place) -> int:
    """The last sequence number before the place."""
    match place.kind:
        case PlaceKind.EARLIEST:
            return reader.bounds().tail - 1
        case PlaceKind.LATEST:
            return reader.bounds().head
        case PlaceKind.SEQUENCE:
            return int(place.value)
        case PlaceKind.TIME:
            return _before_time(reader, int(place.value))
        case PlaceKind.POSITION:
            return _after_position(reader, str(place.value))
        case _:
            assert_never(place.kind)


def _before_time(reader: LogReader, ms: int) -> int:
    bounds = reader.bounds()
    border = bounds.tail - 1
    for run in reader.segments(border, bounds.head):
        if run.max_ts_ms >= ms:
            (batch,) = _stored(reader, run)
            late = batch.filter(pc.greater_equal(batch.column("ts_ms"), ms)).first_sequence
            earlier = [int(each) for each in batch.borders() if each < late]
            return earlier[-1] if earlier else border
        if run.closes_transaction:
            border = run.last_sequence
    return bounds.head


def _after_position(reader: LogReader, text: str) -> int:
    """Newest first: a position that somebody noted is seldom old."""
    bounds = reader.bounds()
    for run in reversed(reader.segments(bounds.tail - 1, bounds.head)):
        for batch in _stored(reader, run):
            found = batch.filter(pc.equal(batch.column("offset"), pa.scalar(text)))
            if len(found):
                return found.last_sequence
    raise ConfigError(
        "spark-option",
        f"startingPosition: no event of the log has the position {text!r}",
        hint="write what source.offset of an event says, or start by sequence or time",
    )


def _stored(reader: LogReader, run: SegmentInfo) -> list[EventBatch]:
    return list(reader.read(run.first_sequence - 1, run.last_sequence))
