"""A topic as a source: the same events by the same columns, with offsets of the broker as places.

Offsets are Spark's to keep, in its checkpoint. A record that was written twice comes twice; its
sequence number tells. As of a log, every offset carries the one that the query began with: Spark
does not write down where the first micro-batch began. It also carries the broker's own id of the
topic: in one that was made anew under the same name, the same offsets are other records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from headwater.errors import ConfigError, GapError
from headwater.event import EventBatch
from headwater.spark.source.limits import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from headwater.spark.source.options import Options
from headwater.spark.source.place import Place, PlaceKind
from headwater.spark.source.ranges import chosen
from headwater.spark.source.records import FormatOpener, rows_of


class Topic(Protocol):
    """A topic of events; picklable, so that executors can reach it for themselves."""

    @property
    def name(self) -> str:
        """Its name at the broker."""
        ...

    def identity(self) -> str | None:
        """What the broker knows it by: one of the same name made later has another. None: nothing.

        Ask for it before the bounds. What is made anew between the two then shows the next time.
        """
        ...

    def bounds(self) -> tuple[int, int]:
        """The offset of the first record that is there, and the one that the next will have."""
        ...

    def offset_at(self, ms: int) -> int:
        """The offset of the first record that was written at this time or later."""
        ...

    def read(self, first: int, end: int) -> Iterator[EventBatch]:
        """The events of the records from `first` on and before `end`."""
        ...


@dataclass
class Offsets(InputPartition):
    """One task's share."""

    first: int
    end: int


class TopicReading:
    """What both readers share."""

    def __init__(self, topic: Topic, options: Options, form: FormatOpener | None) -> None:
        _require_fitting(options)
        self._topic = topic
        self._options = options
        self._form = form

    def _begin(self) -> int:
        """The offset to begin at; events that are asked for by number must not have been let go."""
        first, end = self._topic.bounds()
        start = self._options.start
        if start is not None and start.kind is PlaceKind.SEQUENCE and first:
            self._require_after(int(start.value), first, end)
        return self._place(start, first)

    def _require_after(self, sequence: int, first: int, end: int) -> None:
        """INV-9, for a topic whose first records are gone: they may have held what is asked for.

        Events may have been left out of a topic, so only where it begins can be told; one that was
        written once more has its earliest event in the midst.
        """
        numbers = (batch.column("sequence_number") for batch in self._topic.read(first, end))
        if not any(pc.any(pc.less_equal(each, sequence + 1)).as_py() for each in numbers):
            raise GapError(
                "kafka-gap",
                f"events after {sequence} were to be read, and the broker has removed records"
                " that may have held them",
                where=self._topic.name,
                hint="read what it has: startingSequence=earliest",
            )

    def _place(self, place: Place | None, default: int) -> int:
        """The offset of a place. A sequence number is nowhere in a topic: all is read for it."""
        match None if place is None else place.kind:
            case PlaceKind.LATEST:
                return self._topic.bounds()[1]
            case PlaceKind.TIME if place is not None:
                return self._topic.offset_at(int(place.value))
            case _:
                return default

    def _plan(self, first: int, end: int) -> list[InputPartition]:
        kept = self._topic.bounds()[0]
        if first < min(kept, end):
            raise GapError(
                "kafka-gap",
                f"records from {first} on were to be read, and the broker has them from {kept} on",
                where=self._topic.name,
            )
        parts = self._options.tasks.for_records(end - first)
        step = max(-(-(end - first) // parts), 1)
        return [Offsets(each, min(each + step, end)) for each in range(first, end, step)]

    def _rows(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(self._batches(partition), self._form)

    def _batches(self, partition: InputPartition) -> Iterator[EventBatch]:
        if not isinstance(partition, Offsets):  # Spark's stand-in for "nothing to read"
            return
        for batch in self._topic.read(partition.first, partition.end):
            yield self._within(chosen(batch, self._options.tables))

    def _within(self, batch: EventBatch) -> EventBatch:
        """What lies between the sequence numbers that are asked for."""
        sequence = batch.column("sequence_number")
        start, end = self._options.start, self._options.end
        if start is not None and start.kind is PlaceKind.SEQUENCE:
            batch = batch.filter(pc.greater(sequence, int(start.value)))
            sequence = batch.column("sequence_number")
        if end is not None and end.kind is PlaceKind.SEQUENCE:
            batch = batch.filter(pc.less_equal(sequence, int(end.value)))
        return batch


class TopicBatchReader(TopicReading, DataSourceReader):
    """Reads once what is there."""

    def __init__(self, topic: Topic, options: Options, form: FormatOpener | None = None) -> None:
        super().__init__(topic, options.for_batch(), form)

    def partitions(self) -> list[InputPartition]:
        """The shares of the tasks."""
        start = self._begin()
        return self._plan(start, self._place(self._options.end, self._topic.bounds()[1]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        return self._rows(partition)


class TopicStreamReader(TopicReading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the topic. Lives on the driver's side; only `read` runs in the workers."""

    def __init__(self, topic: Topic, options: Options, form: FormatOpener | None = None) -> None:
        super().__init__(topic, options.for_stream(), form)
        self._stop_at: int | None = None
        self._origin: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's
        """Where a new query begins."""
        identity = self._topic.identity()
        self._origin = self._begin()
        return self._at(self._origin, identity)

    def _at(self, offset: int, identity: str | None) -> dict[str, Any]:
        began = {} if self._origin is None else {"origin": self._origin}
        return {"offset": offset, "topic": self._topic.name, **began, **_known(identity)}

    def _require_same(self, offset: dict[str, Any], identity: str | None) -> None:
        """INV-9: records of this offset are there, or were. Offsets of old have no identity."""
        if offset["topic"] != self._topic.name:
            raise GapError(
                "spark-other-log", f"the checkpoint is of topic {offset['topic']}, not of this one"
            )
        known = offset.get("identity")
        if known is not None and identity is not None and known != identity:
            raise GapError(
                "kafka-gap",
                f"the topic was made anew: the checkpoint is at record {offset['offset']} of topic"
                f" id {known}, and this one's is {identity}",
                where=self._topic.name,
                hint="read it from its beginning, with a new checkpoint",
            )

    def _require_reached(self, offset: int, end: int) -> None:
        """INV-9: a topic never ends before what was read of it, unless it lost records."""
        if end < offset:
            raise GapError(
                "kafka-gap",
                f"the checkpoint is at record {offset}, and the topic has {end}:"
                " it was made anew, or lost its last records",
                where=self._topic.name,
                hint="read it from its beginning, with a new checkpoint",
            )

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Fix the end: what is there now is what this run will read."""
        _, self._stop_at = self._topic.bounds()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """Records, as far as the options say; others than rows are not in a topic."""
        most = self._options.max_rows
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        """The end, from which Spark's progress tells the lag."""
        return {"offset": self._topic.bounds()[1]}

    def latestOffset(  # noqa: N802
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """The end of the next micro-batch. Spark 4.1 says neither start nor limit."""
        identity, (_, there) = self._topic.identity(), self._topic.bounds()
        end = there if self._stop_at is None else self._stop_at
        if start is None:
            return self._at(end, identity)
        begin, most = int(start["offset"]), self._options.max_rows
        self._require_same(start, identity)
        self._require_reached(begin, there)
        if end <= begin:  # the very same: Spark would run a micro-batch for any other
            return start
        if most is not None and not isinstance(limit, ReadAllAvailable):
            end = min(end, begin + most)
        return {**start, **_known(identity), "offset": end}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """The shares of a micro-batch's tasks."""
        identity = self._topic.identity()
        self._require_same(start, identity)
        self._require_same(end, identity)
        begin = int(start["offset"])
        self._origin = end.get("origin")
        if self._origin is not None and start.get("origin") != self._origin:
            begin = self._origin
        self._require_reached(begin, int(end["offset"]))
        return self._plan(begin, int(end["offset"]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """One task's rows."""
        return self._rows(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing: the place is in Spark's checkpoint."""

    def stop(self) -> None:
        """Nothing is open in between."""


def _known(identity: str | None) -> dict[str, str]:
    return {} if identity is None else {"identity": identity}


def _require_fitting(options: Options) -> None:
    """Options that a topic cannot heed would be passed over in silence."""
    position = options.start is not None and options.start.kind is PlaceKind.POSITION
    unfit = {
        "consumer": bool(options.consumer),
        "attempt": bool(options.attempt),
        "maxBytesPerTrigger": options.max_bytes is not None,
        "pushFilters": options.push_filters,
        "startingPosition": position,
        "typedRead": bool(options.typed_read),
        **dict.fromkeys(options.given, True),
    }
    for name, given in unfit.items():
        if given:
            raise ConfigError("spark-option", f"{name} is not for topics")
