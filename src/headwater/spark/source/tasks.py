"""How many tasks a read has: as many as were asked for, else as many as it is worth."""

from __future__ import annotations

from dataclasses import dataclass

# What a task must have to do, or starting it costs more than it saves: some tens of milliseconds
# of work. Two there are always: what one of them reads need not lie in the other's way.
WORTH_BYTES = 4 * 1024**2
WORTH_RECORDS = 10_000
USUAL = 2


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one read; `asked` is what its options say, `cores` what the session has.

    A process that plans a read does not know the session: where nobody has told it, there are two.
    """

    asked: int | None = None
    cores: int = USUAL

    def for_bytes(self, size: int) -> int:
        """For so many bytes, as the log stores them."""
        return self._worth(size, WORTH_BYTES)

    def for_records(self, records: int) -> int:
        """For so many records of a topic."""
        return self._worth(records, WORTH_RECORDS)

    def share(self, most: int) -> int:
        """How many of a topic's records a task takes, if a read has so many at most."""
        return max(-(-most // self.cores), WORTH_RECORDS)

    def _worth(self, size: int, least: int) -> int:
        if self.asked is not None:
            return self.asked
        return min(max(size // least, USUAL), self.cores)
