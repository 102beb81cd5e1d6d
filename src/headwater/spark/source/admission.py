"""How much a micro-batch takes: rows and bytes at most, and always whole transactions (INV-7)."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.contract import SegmentInfo


@dataclass(frozen=True, slots=True)
class Admission:
    """The most rows and the most stored bytes of a micro-batch; None is no limit."""

    rows: int | None = None
    bytes: int | None = None

    def end(self, runs: tuple[SegmentInfo, ...], after: int, head: int) -> int:
        """Where a micro-batch that begins after `after` ends: the smaller limit wins.

        A transaction that is larger than the limits by itself is taken whole: nothing would ever
        be read otherwise.
        """
        border, size = after, 0
        for run in runs:
            size += run.bytes
            last = min(run.last_sequence, head)
            if border > after and not self._admits(last - after, size):
                return border
            if run.closes_transaction:
                border = last
                if not self._admits(last - after, size):
                    return border
        return head

    @property
    def unlimited(self) -> bool:
        """Whether everything is admitted."""
        return self.rows is None and self.bytes is None

    def _admits(self, rows: int, size: int) -> bool:
        return (self.rows is None or rows <= self.rows) and (
            self.bytes is None or size <= self.bytes
        )
