"""Keep rows by a column's value: a tenant's rows, a region's, a status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headwater.event import Event, EventBatch, Operation


@dataclass(frozen=True, slots=True)
class KeepRows:
    """Keep the events of rows whose `column` has one of `values`, before or after the change.

    An event is kept only if the column is there in every image that the event has: where a source
    did not send it (a key-only before image, an unavailable column), nothing can be decided and
    nothing is delivered (INV-11). Truncates and schema changes concern every row and pass. A
    logical message concerns none, whatever its own members are called, and is not delivered.
    """

    column: str
    values: frozenset[Any]

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The events that pass, in order."""
        if len(batch) == 0:
            return batch
        return batch.filter(pa.array([self._keeps(event) for event in batch], pa.bool_()))

    def _keeps(self, event: Event) -> bool:
        if event.op in (Operation.TRUNCATE, Operation.SCHEMA_CHANGE):
            return True
        if event.op is Operation.MESSAGE:
            return False
        images = [image for image in (event.before, event.after) if image is not None]
        if not images or any(self.column not in image for image in images):
            return False
        return any(image[self.column] in self.values for image in images)
