"""Rows as hashes, and ranges of them.

Every row has a place, a 128-bit hash of its key. A range is all places that begin with the same
hexadecimal digits. So ranges are even whatever the keys are, are the same on both sides whatever
the engines' collations are, and one more digit splits each into sixteen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

BITS = 128
DIGITS = BITS // 4


@dataclass(frozen=True, slots=True)
class Summary:
    """How many rows there are, and the sum of their hashes mod 2**128."""

    rows: int = 0
    total: int = 0

    def __add__(self, other: Summary) -> Summary:
        return Summary(self.rows + other.rows, (self.total + other.total) % (1 << BITS))

    @property
    def hash(self) -> str:
        """The sum in hexadecimal digits."""
        return f"{self.total:032x}"


NOTHING = Summary()


@dataclass(frozen=True, slots=True)
class Entry:
    """Rows with one place and one hash: one, or `count` equal ones of a table without a key.

    `key` is JSON. A negative count takes rows away.
    """

    place: str
    hash: str
    key: str = ""
    count: int = 1


class Side(Protocol):
    """A table's rows at one moment: the target's, or the source's."""

    def summaries(
        self, digits: int, within: Collection[str] | None = None
    ) -> Mapping[str, Summary]:
        """The ranges of so many digits that have rows; of those within these ranges, if given."""
        ...

    def entries(self, ranges: Collection[str]) -> Iterator[Entry]:
        """The rows of these ranges, which may be of several lengths."""
        ...


class MemorySide:
    """Few rows, in memory."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = tuple(entries)

    def summaries(
        self, digits: int, within: Collection[str] | None = None
    ) -> Mapping[str, Summary]:
        """The ranges of so many digits."""
        found: dict[str, Summary] = {}
        for entry in self._chosen(within):
            name = entry.place[:digits]
            added = Summary(entry.count, int(entry.hash, 16) * entry.count)
            found[name] = found.get(name, NOTHING) + added
        return found

    def entries(self, ranges: Collection[str]) -> Iterator[Entry]:
        """The rows of these ranges."""
        return self._chosen(ranges)

    def _chosen(self, ranges: Collection[str] | None) -> Iterator[Entry]:
        if ranges is None:
            yield from self._entries
            return
        wanted, lengths = set(ranges), {len(each) for each in ranges}
        for entry in self._entries:
            if any(entry.place[:length] in wanted for length in lengths):
                yield entry


class SumSide:
    """Two sides as one: rows, and rows that come to them or, counted below zero, leave them."""

    def __init__(self, rows: Side, moved: Side) -> None:
        self._parts = (rows, moved)

    def summaries(
        self, digits: int, within: Collection[str] | None = None
    ) -> Mapping[str, Summary]:
        """The ranges of so many digits."""
        found: dict[str, Summary] = {}
        for part in self._parts:
            for name, summary in part.summaries(digits, within).items():
                found[name] = found.get(name, NOTHING) + summary
        return found

    def entries(self, ranges: Collection[str]) -> Iterator[Entry]:
        """The rows of these ranges."""
        counts: Counter[tuple[str, str, str]] = Counter()
        for part in self._parts:
            for each in part.entries(ranges):
                counts[each.place, each.hash, each.key] += each.count
        for (place, row_hash, key), count in counts.items():
            if count:
                yield Entry(place, row_hash, key, count)
