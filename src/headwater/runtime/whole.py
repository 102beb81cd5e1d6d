"""WholeTransactions: a transform that needs whole transactions, where deliveries cut them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from headwater.contract import LogReader, Studied, Transform, WholeTransform
from headwater.event import EventBatch


@dataclass(frozen=True, slots=True)
class _Known:
    """A transaction by its first sequence number, and what was found out about it, if anything."""

    start: int
    studied: Studied | None


class WholeTransactions:
    """Gives `inner` whole transactions only. Implements contract.Parting for one subscription.

    A transaction that a delivery does not hold whole is studied in passes over the log, which holds
    it whole (INV-7), whatever its size; what its events become is handed out as they go by. Nothing
    of this outlives the process: after a restart it is found out again, and is the same.

    `before` is what happens to events before `inner` sees them, `after` what happens to its own.
    """

    def __init__(
        self, reader: LogReader, inner: WholeTransform, *, before: Transform, after: Transform
    ) -> None:
        self._reader = reader
        self._inner = inner
        self._before = before
        self._after = after
        self._known: _Known | None = None

    def parts(self, batch: EventBatch) -> Iterator[tuple[EventBatch, EventBatch]]:
        """The batch in runs, each with what it becomes."""
        if len(batch) == 0:
            return
        ends = np.flatnonzero(batch.ends_transaction()) + 1
        lead = 0 if _index(batch) == 0 else int(ends[0]) if len(ends) else len(batch)
        trail = max(lead, int(ends[-1]) if len(ends) else 0)
        if lead:
            yield from self._piece(batch.slice(0, lead))
        if lead == 0 or len(ends):
            self.close()  # the transaction of earlier deliveries is over
        if lead < trail:
            whole = batch.slice(lead, trail - lead)
            yield whole, self._after(self._inner(self._before(whole)))
        if trail < len(batch):
            yield from self._piece(batch.slice(trail))

    def close(self) -> None:
        """Give back what the present transaction holds. Safe to call twice."""
        if self._known is not None and self._known.studied is not None:
            self._known.studied.close()
        self._known = None

    def _piece(self, piece: EventBatch) -> Iterator[tuple[EventBatch, EventBatch]]:
        """A part of one transaction."""
        start = piece.first_sequence - _index(piece)
        if self._known is None or self._known.start != start:
            self.close()
            studied = self._inner.study(lambda: map(self._before, self._transaction(start)))
            self._known = _Known(start, studied)
        studied = self._known.studied
        if studied is None:
            yield piece, self._after(self._before(piece))
            return
        for run in studied.cut(piece):
            yield run, self._after(studied(self._before(run)))

    def _transaction(self, start: int) -> Iterator[EventBatch]:
        """The stored batches of the transaction that begins at `start`, without others' events."""
        for stored in self._reader.read(start - 1):
            blocks = stored.column("transaction")
            begins = pc.subtract(
                stored.column("sequence_number"), pc.struct_field(blocks, "event_index")
            )
            belongs = pc.equal(begins, start).fill_null(fill_value=False)
            count = int(pc.index(belongs, value=False).as_py())
            if count != 0:
                yield stored if count < 0 else stored.slice(0, count)
            if count >= 0 or stored.closes_transaction:
                return


def _index(batch: EventBatch) -> int:
    """The first event's place in its transaction."""
    block = batch.column("transaction")[0].as_py()
    return 0 if block is None else int(block["event_index"])
