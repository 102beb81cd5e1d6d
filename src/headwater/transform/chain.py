"""Chain: transforms in a row, as one transform."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.contract import Transform
from headwater.event import EventBatch


@dataclass(frozen=True, slots=True)
class Chain:
    """Applies each transform to what the one before gave. Without any it is the identity."""

    transforms: tuple[Transform, ...] = ()

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The batch after all of them."""
        for transform in self.transforms:
            batch = transform(batch)
        return batch
