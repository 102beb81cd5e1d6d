"""From a table to the keys that differ: ranges are compared, and those that differ are split.

Only ranges that differ are looked at again. Places are even, so one look tells how many more digits
make ranges of a few hundred rows: a table takes two or three looks, not one per digit. What is held
in memory has a bound: so many ranges, and so many keys.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from headwater.app.proof.ranges import DIGITS, NOTHING, Entry, Side, Summary

COARSE_DIGITS = 2  # 256 ranges
ROWS_PER_RANGE = 256
MAX_KEYS = 10_000
_RANGES_AT_ONCE = 1 << 18
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Differences:
    """Keys that are on one side only, or on both with different rows.

    `complete` is False where there are more than were looked for. Rows without a key are named by
    their hash.
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    different: tuple[str, ...] = ()
    complete: bool = True

    def __len__(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.different)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both sides of a table, what differs, and how many ranges were compared to find that."""

    target: Summary
    source: Summary
    differences: Differences
    ranges: int

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same rows."""
        return self.target == self.source and not len(self.differences)


def compare(
    target: Side,
    source: Side,
    *,
    keyed: bool = True,
    max_keys: int = MAX_KEYS,
    rows_per_range: int = ROWS_PER_RANGE,
) -> Comparison:
    """Compare two sides down to the keys. Ranges with more rows than these are split."""
    search = _Search(target, source, max_keys, rows_per_range)
    ours, theirs = search.look(COARSE_DIGITS, None)
    search.sort(ours, theirs)
    while search.large:
        search.sort(*search.look_closer())
    differences = search.differences(keyed=keyed)
    return Comparison(_sum(ours), _sum(theirs), differences, search.ranges)


@dataclass(slots=True)
class _Search:
    """Ranges that differ: small ones, whose rows are compared, and large ones, to be split."""

    target: Side
    source: Side
    max_keys: int
    rows_per_range: int
    ranges: int = 0
    complete: bool = True
    small: dict[str, int] = field(default_factory=dict)
    large: dict[str, int] = field(default_factory=dict)
    digits: int = COARSE_DIGITS

    def look(
        self, digits: int, within: Sequence[str] | None
    ) -> tuple[Mapping[str, Summary], Mapping[str, Summary]]:
        self.digits = digits
        return self.target.summaries(digits, within), self.source.summaries(digits, within)

    def look_closer(self) -> tuple[Mapping[str, Summary], Mapping[str, Summary]]:
        """Split the large ranges: into as many as their rows need, and memory allows."""
        within, rows = list(self.large), max(self.large.values())
        self.large = {}
        more = 1
        while rows >> 4 * more > self.rows_per_range:
            if len(within) << 4 * (more + 1) > _RANGES_AT_ONCE:
                break
            more += 1
        return self.look(min(self.digits + more, DIGITS), within)

    def sort(self, ours: Mapping[str, Summary], theirs: Mapping[str, Summary]) -> None:
        """Sort the ranges that differ into small and large ones.

        Each has a key at least, so no more of them are kept than keys are wanted.
        """
        names = sorted(ours.keys() | theirs.keys())
        self.ranges += len(names)
        for name in names:
            mine, other = ours.get(name, NOTHING), theirs.get(name, NOTHING)
            if mine == other:
                continue
            if len(self.small) + len(self.large) >= self.max_keys:
                self.complete = False
                break
            rows = max(mine.rows, other.rows)
            split = rows > self.rows_per_range and len(name) < DIGITS
            (self.large if split else self.small)[name] = rows

    def differences(self, *, keyed: bool) -> Differences:
        """The keys of the small ranges that differ, as many as are wanted."""
        found: dict[str, list[str]] = {"missing": [], "extra": [], "different": []}
        count = 0
        for some in _portions(self.small):
            ours, theirs = _by_place(self.target, some), _by_place(self.source, some)
            for place in sorted(ours.keys() | theirs.keys()):
                for kind, key in _verdicts(ours.get(place), theirs.get(place), keyed=keyed):
                    if count >= self.max_keys:
                        return _as_differences(found, complete=False)
                    found[kind].append(key)
                    count += 1
        return _as_differences(found, complete=self.complete)


def _portions(ranges: Mapping[str, int]) -> Iterator[list[str]]:
    """Ranges in portions whose rows fit into memory."""
    some: list[str] = []
    rows = 0
    for name, count in ranges.items():
        if some and rows + count > _ROWS_AT_ONCE:
            yield some
            some, rows = [], 0
        some.append(name)
        rows += count
    if some:
        yield some


_Rows = Mapping[str, int]


def _by_place(side: Side, ranges: Sequence[str]) -> Mapping[str, tuple[str, _Rows]]:
    """By place: the key, and how often there is which row."""
    keys: dict[str, str] = {}
    rows: dict[str, dict[str, int]] = defaultdict(dict)
    for entry in side.entries(ranges):
        keys[entry.place] = entry.key
        rows[entry.place][entry.hash] = rows[entry.place].get(entry.hash, 0) + entry.count
    return {place: (keys[place], rows[place]) for place in rows}


def _verdicts(
    ours: tuple[str, _Rows] | None, theirs: tuple[str, _Rows] | None, *, keyed: bool
) -> Iterable[tuple[str, str]]:
    (key, mine), (other_key, other) = ours or ("", {}), theirs or ("", {})
    if mine == other:
        return []
    if keyed:
        kind = "missing" if not mine else "extra" if not other else "different"
        # As the source spells it: what is read again there is looked for by that.
        return [(kind, other_key or key)]
    (row,) = mine.keys() | other.keys()
    surplus = mine.get(row, 0) - other.get(row, 0)
    return [("extra" if surplus > 0 else "missing", f"row:{row}")] * abs(surplus)


def _as_differences(found: Mapping[str, Iterable[str]], *, complete: bool) -> Differences:
    return Differences(
        **{kind: tuple(sorted(keys)) for kind, keys in found.items()}, complete=complete
    )


def _sum(ranges: Mapping[str, Summary]) -> Summary:
    total = NOTHING
    for each in ranges.values():
        total += each
    return total


__all__ = ["Comparison", "Differences", "Entry", "compare"]
