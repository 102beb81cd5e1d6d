"""The log between the targets' moment and the source's, told to the tables that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.roll import Moves
from headwater.app.proof.shapes import Shapes
from headwater.contract import LogReader
from headwater.errors import HeadwaterError
from headwater.event import Event, EventBatch

_SIDES = ("before", "after")

# By table: what moved, or why that cannot be said.
Moved = Mapping[str, Moves | HeadwaterError]


@dataclass(frozen=True, slots=True)
class Between:
    """The events of tables after the sequence number that each has `reached`, up to a moment."""

    reader: LogReader
    encoders: Mapping[str, Encoder]
    shapes: Shapes
    reached: Mapping[str, int]
    moment: int

    def moved(self) -> Moved:
        """What the events tell. A table that it cannot be said of leaves the others alone.

        The log is read twice: a value may be told before it turns out to be needed, and only those
        that are needed are held.
        """
        found: dict[str, Moves | HeadwaterError] = {
            name: self._shape_refused(name) or Moves(encoder)
            for name, encoder in self.encoders.items()
        }
        for batch in self._batches():
            self._tell(found, _partial(batch), Moves.expect)
        for batch in self._batches():
            self._tell(found, batch, Moves.apply)
        return found

    def _shape_refused(self, name: str) -> HeadwaterError | None:
        return self.shapes.refusal_at(name, self.reached[name]) if name in self.reached else None

    def _batches(self) -> Iterator[EventBatch]:
        behind = min(self.reached.values(), default=self.moment)
        if behind < self.moment:
            yield from self.reader.read(behind, self.moment)

    def _tell(
        self,
        found: dict[str, Moves | HeadwaterError],
        batch: EventBatch,
        tell: Callable[[Moves, Event], None],
    ) -> None:
        images = zip(*(batch.column(side).to_pylist() for side in _SIDES), strict=True)
        for event, (before, after) in zip(_without_images(batch), images, strict=True):
            name = str(event.table_id)
            moves = found.get(name)
            if name not in self.reached or not isinstance(moves, Moves):
                continue
            if event.sequence_number > self.reached[name]:
                if refusal := self.shapes.refusal(name, event.schema_id):
                    found[name] = refusal
                    continue
                row = self.encoders[name].row
                try:
                    whole = replace(
                        event, before=before and row(before), after=after and row(after)
                    )
                    tell(moves, whole)
                except HeadwaterError as exc:
                    found[name] = exc


def _partial(batch: EventBatch) -> EventBatch:
    """The events that do not tell every column."""
    unsent = pc.list_value_length(batch.column("unavailable_columns"))
    return batch.filter(pc.greater(pc.fill_null(unsent, 0), 0))


def _without_images(batch: EventBatch) -> EventBatch:
    """Rows are read by their table's encoder: one that cannot be read is that table's own."""
    records = batch.records
    for side in _SIDES:
        place = records.schema.get_field_index(side)
        records = records.set_column(
            place, records.schema.field(place), pa.nulls(len(batch), "string")
        )
    return EventBatch(records, batch.closes_transaction)
