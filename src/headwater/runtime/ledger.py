"""Ledger: which deliveries are out, what was acknowledged, and how far a cursor may move.

Pure bookkeeping: no clock, no lock, no disk. The rules of INV-1 in one place:

- an acknowledgement is single use, for a whole delivery or for a prefix of it;
- the cursor moves only over a contiguous acknowledged prefix of everything delivered;
- it stops only at a transaction border, because a restart inside one would lose its rest.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.errors import StateError

Borders = npt.NDArray[np.int64]


@dataclass(slots=True, eq=False)
class Token:
    """One delivery's entry: it covers the sequence numbers after `after` up to `last`."""

    ledger: Ledger
    after: int
    last: int
    borders: Borders
    acked: int

    @property
    def done(self) -> bool:
        """Whether all of it was acknowledged."""
        return self.acked == self.last

    def last_border(self) -> int | None:
        """The last transaction border in the acknowledged part, or None."""
        count = int(np.searchsorted(self.borders, self.acked, side="right"))
        return int(self.borders[count - 1]) if count else None


class Ledger:
    """The deliveries of one subscription, in order."""

    def __init__(self, acked: int) -> None:
        self._delivered = acked
        self._settled = acked
        self._open: deque[Token] = deque()

    @property
    def delivered(self) -> int:
        """The last sequence number that was handed out."""
        return self._delivered

    @property
    def in_flight(self) -> int:
        """How many deliveries are not settled yet."""
        return len(self._open)

    def deliver(self, last: int, borders: Borders) -> Token:
        """Hand out everything after the previous delivery up to `last`."""
        token = Token(self, self._delivered, last, borders, acked=self._delivered)
        self._open.append(token)
        self._delivered = last
        return token

    def ack(self, token: Token, upto: int | None = None) -> int:
        """Acknowledge a delivery, or its prefix up to a border; returns the mark before it.

        `unack` with that mark takes it back, for when the cursor could not be made durable.
        """
        target = token.last if upto is None else upto
        self._check(token, target)
        before, token.acked = token.acked, target
        return before

    def _check(self, token: Token, target: int) -> None:
        if token.ledger is not self:
            raise StateError("ack-unknown", "the batch was delivered by another subscription")
        if not token.after < target <= token.last:
            raise StateError(
                "ack-outside-batch",
                f"{target} is not one of the events {token.after + 1} to {token.last}",
            )
        if target <= token.acked:
            raise StateError(
                "ack-spent", f"events {token.after + 1} to {token.acked} were acknowledged before"
            )
        at = int(np.searchsorted(token.borders, target))
        is_border = at < len(token.borders) and int(token.borders[at]) == target
        if target != token.last and not is_border:
            raise StateError(
                "ack-inside-transaction", f"event {target} does not end its transaction"
            )

    def unack(self, token: Token, mark: int) -> None:
        """Take an acknowledgement back."""
        token.acked = mark

    def settled(self) -> int:
        """How far the cursor may stand: contiguous, acknowledged, at a border (INV-1)."""
        settled = self._settled
        for token in self._open:
            settled = token.last_border() or settled
            if not token.done:
                break
        return settled

    def release(self, upto: int) -> None:
        """The cursor stands durably at `upto`: forget what lies wholly before it."""
        self._settled = max(self._settled, upto)
        while self._open and self._open[0].last <= upto:
            self._open.popleft()
