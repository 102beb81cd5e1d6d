"""Transform: a pure function from batch to batch, the same in the capture process and on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from headwater.event import EventBatch


class Transform(Protocol):
    """Changes or drops events. Pure and picklable: executors run the same object."""

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The transformed batch; order and sequence numbers are kept."""
        ...


class Studied(Transform, Protocol):
    """What a transform found out about one transaction: it takes the transaction's pieces."""

    def cut(self, piece: EventBatch) -> Iterator[EventBatch]:
        """The piece in runs small enough for what each becomes; in order, nothing left out."""
        ...

    def close(self) -> None:
        """Give back what it holds. Safe to call twice."""
        ...


class WholeTransform(Transform, Protocol):
    """A transform of batches that hold whole transactions, or of one transaction of any size."""

    def study(self, pieces: Callable[[], Iterator[EventBatch]]) -> Studied | None:
        """Look at one transaction, which `pieces` gives in order as often as it is asked.

        What the pieces become is what the whole would become in one batch. None if they stay as
        they are.
        """
        ...


@runtime_checkable
class Parting(Protocol):
    """Makes of a batch what may be much larger than it, and so hands it out in parts."""

    def parts(self, batch: EventBatch) -> Iterator[tuple[EventBatch, EventBatch]]:
        """Runs of the batch, in order and nothing left out, each with what it becomes."""
        ...
