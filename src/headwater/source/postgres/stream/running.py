"""The running stream: gulps to batches, positions that move on, and chunks that join in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from headwater.contract import SourceBatch
from headwater.event import EventBatch
from headwater.failpoint import failpoint
from headwater.source.postgres.place import Place
from headwater.source.postgres.stream.assemble import Assembled, Assembler
from headwater.source.postgres.stream.intake import Intake
from headwater.source.postgres.tables.handed import Handed
from headwater.source.postgres.tables.watermark import WaitingChunk

# Moving only the position costs a durable write: filtered changes need not pay it every time.
_POSITION_INTERVAL_S = 1.0
_PROBE_S = 0.05
_SILENCE_S = 5.0


class Stream:
    """Reads a slot. `place` is where everything handed on so far leaves the source."""

    def __init__(self, receiver: Intake, assembler: Assembler, place: Place, head_lsn: int) -> None:
        self._receiver = receiver
        self._assembler = assembler
        self._coming: Iterator[Assembled] = iter(())
        self._reached = self._said = place.lsn
        self._moved_at = time.monotonic()
        self._in_pieces = False
        self._handed_lsn = place.lsn
        self._head_lsn = head_lsn
        self._heard_at = time.monotonic()
        self._marks: dict[int, str] = {}
        self.place = place
        self.handed = Handed()

    def read(
        self, max_events: int, timeout_s: float, waiting: WaitingChunk | None
    ) -> SourceBatch | None:
        """The next batch; None if none came within the time."""
        deadline = time.monotonic() + timeout_s
        while True:
            for assembled in self._coming:
                batch = self._batch(assembled, waiting)
                if batch is not None:
                    return batch
            # Only now: what the server had sent before it said so is handed on.
            self._reached = max(self._reached, self._said)
            gulp = self._receiver.take(max(0.0, deadline - time.monotonic()))
            if gulp is None:
                if not self._behind():
                    return self._position_alone()
                self._receiver.probe()
                deadline = time.monotonic() + _PROBE_S
                continue
            self._heard_at = time.monotonic()
            self._coming = self._assembler.assemble(gulp, max_events)
            self._said = gulp.reached
            failpoint("source.postgres.gulp_taken")

    def _behind(self) -> bool:
        """Whether changes that were there at the start are still to come.

        "Nothing within the time" means that the source has caught up. It must not be said while the
        server is still searching its log for the first change; but a server that stays silent has
        nothing to send.
        """
        if self._head_lsn and self.passed(self._head_lsn):
            self._head_lsn = 0
        return bool(self._head_lsn) and time.monotonic() - self._heard_at < _SILENCE_S

    def passed(self, lsn: int) -> bool:
        """Whether every transaction that ends before `lsn` has been handed on, and none in part."""
        if self._in_pieces:
            return False
        idle = self._assembler.between_transactions
        return self.place.lsn >= lsn or (idle and self._reached >= lsn)

    def _batch(self, assembled: Assembled, waiting: WaitingChunk | None) -> SourceBatch | None:
        events = assembled.events
        self._marks.update(assembled.marks)
        if assembled.lsn is None:
            self._in_pieces = True
        else:
            self.place = self._moved(assembled.lsn)
            # A position alone is not worth a durable write each time, unless it closes pieces.
            if len(events) == 0 and not self._in_pieces and not assembled.schemas:
                return None
            self._in_pieces = False
        if len(events):
            self.handed.note(events)
            if waiting is not None:
                waiting.note(events)
        return self._handed(SourceBatch(events, self.place.encode(), assembled.schemas))

    def _moved(self, lsn: int) -> Place:
        """The place after a transaction, which knows the shapes that came with it."""
        place, marks = self.place, self._marks
        if marks:
            place, self._marks = place.marking(marks), {}
        return replace(place, lsn=max(place.lsn, lsn))

    def _position_alone(self) -> SourceBatch | None:
        """Tell how far the stream has come, when nothing captured has changed for a while."""
        if not self._assembler.between_transactions:
            return None
        lsn = max(self.place.lsn, self._reached)
        due = time.monotonic() - self._moved_at >= _POSITION_INTERVAL_S
        if lsn == self._handed_lsn or not due:
            return None
        self.place = replace(self.place, lsn=lsn)
        return self._handed(SourceBatch(EventBatch.concat([]), self.place.encode()))

    def _handed(self, batch: SourceBatch) -> SourceBatch:
        self._moved_at = time.monotonic()
        self._handed_lsn = self.place.lsn
        return batch
