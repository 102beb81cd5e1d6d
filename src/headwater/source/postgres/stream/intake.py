"""What the running stream needs of whoever receives it, over whichever transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from headwater.source.postgres.stream.mailbox import Gulp


class Intake(Protocol):
    """Messages of a slot, received by a thread of its own."""

    def start(self, slot: str, lsn: int, options: Mapping[str, str]) -> None:
        """Begin with the transactions that commit at `lsn` or later: the log holds all others."""
        ...

    def take(self, timeout_s: float) -> Gulp | None:
        """Everything that waits, as one gulp; None if nothing came within the time."""
        ...

    def confirm(self, lsn: int) -> None:
        """Let the server forget everything before `lsn` (INV-2)."""
        ...

    def probe(self) -> None:
        """Ask how far the server has come; the answer arrives as a gulp."""
        ...

    def stop(self) -> None:
        """Say what is confirmed and end. Safe to call twice."""
        ...
