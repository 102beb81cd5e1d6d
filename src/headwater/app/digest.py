"""A table as a count and a 128-bit hash that does not depend on the order of its rows.

A row's hash is blake2b-128 over its canonical JSON with sorted names; a table's is the sum of its
rows' hashes mod 2**128, so rows can be added and taken away one by one. NULL columns are left out:
a column that was added and is NULL in every row is no difference between two tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from headwater.errors import DataError
from headwater.event import Delete, Event, Merge, NoWrite, Operation, Replace, Truncate, row_write

Row = Mapping[str, Any]
_BITS = 128


def canonical(values: Row) -> str:
    """Sorted, compact JSON."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def row_hash(row: Row) -> int:
    """128 bits of a row's content."""
    present = {name: value for name, value in row.items() if value is not None}
    digest = blake2b(canonical(present).encode("utf-8", "surrogatepass"), digest_size=_BITS // 8)
    return int.from_bytes(digest.digest(), "big")


@dataclass(frozen=True, slots=True)
class Differences:
    """Keys that are on one side only, or on both with different rows."""

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    different: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.missing) + len(self.extra) + len(self.different)


@dataclass(slots=True)
class KeyedDigest:
    """A table with a primary key: one hash per key."""

    key: tuple[str, ...]
    hashes: dict[str, int] = field(default_factory=dict)

    def fill(self, rows: Iterable[Row]) -> KeyedDigest:
        """Add rows that were read."""
        for row in rows:
            self.hashes[self._key_text(row)] = row_hash(row)
        return self

    @property
    def count(self) -> int:
        """How many rows."""
        return len(self.hashes)

    @property
    def total(self) -> int:
        """The table's hash."""
        return sum(self.hashes.values()) % (1 << _BITS)

    def apply(self, event: Event) -> None:
        """Do to the rows what the event says."""
        match row_write(event):
            case Replace(row=row, moved_from=moved_from):
                if moved_from is not None:
                    self.hashes.pop(canonical(moved_from), None)
                self.hashes[self._key_text(row)] = row_hash(row)
            case Delete(key=key):
                self.hashes.pop(canonical(key), None)
            case Truncate():
                self.hashes.clear()
            case Merge():
                raise _undecidable(event, "it does not carry the whole row")
            case NoWrite(reason="schema_change" | "message"):
                pass
            case NoWrite(reason=reason):
                raise _undecidable(event, reason)

    def differences(self, source: KeyedDigest) -> Differences:
        """What this side lacks, has too much, or has otherwise than the source."""
        mine, theirs = self.hashes, source.hashes
        return Differences(
            missing=tuple(sorted(theirs.keys() - mine.keys())),
            extra=tuple(sorted(mine.keys() - theirs.keys())),
            different=tuple(
                sorted(key for key in theirs.keys() & mine.keys() if theirs[key] != mine[key])
            ),
        )

    def _key_text(self, row: Row) -> str:
        return canonical({name: row.get(name) for name in self.key})


@dataclass(slots=True)
class BagDigest:
    """A table without a key: equal rows are counted."""

    hashes: Counter[int] = field(default_factory=Counter)

    def fill(self, rows: Iterable[Row]) -> BagDigest:
        """Add rows that were read."""
        self.hashes.update(map(row_hash, rows))
        return self

    @property
    def count(self) -> int:
        """How many rows."""
        return self.hashes.total()

    @property
    def total(self) -> int:
        """The table's hash."""
        return sum(self.hashes.elements()) % (1 << _BITS)

    def apply(self, event: Event) -> None:
        """Do to the rows what the event's images say."""
        if event.op is Operation.TRUNCATE:
            self.hashes.clear()
        for row in _image(event, event.before):
            self.hashes.subtract([row_hash(row)])
        for row in _image(event, event.after):
            self.hashes.update([row_hash(row)])

    def differences(self, source: BagDigest) -> Differences:
        """Rows without a key are named by their hash."""
        missing, extra = source.hashes - self.hashes, self.hashes - source.hashes
        return Differences(
            missing=tuple(sorted(f"row:{each:032x}" for each in missing.elements())),
            extra=tuple(sorted(f"row:{each:032x}" for each in extra.elements())),
        )


TableDigest = KeyedDigest | BagDigest


def new_digest(key: tuple[str, ...]) -> TableDigest:
    """An empty digest for a table with this primary key, which may be empty."""
    return KeyedDigest(key) if key else BagDigest()


def differences(target: TableDigest, source: TableDigest) -> Differences:
    """What the target lacks, has too much, or has otherwise than the source."""
    match target, source:
        case KeyedDigest(), KeyedDigest():
            return target.differences(source)
        case BagDigest(), BagDigest():
            return target.differences(source)
        case _:
            raise TypeError("both sides of a table are digested in the same way")


def _image(event: Event, image: Row | None) -> Iterator[Row]:
    if image is None or event.op in (Operation.SCHEMA_CHANGE, Operation.MESSAGE):
        return
    if event.unavailable_columns or event.before_unavailable_columns or event.before_is_key_only:
        raise _undecidable(event, "it does not carry the whole row")
    yield image


def _undecidable(event: Event, reason: str) -> DataError:
    return DataError(
        "verify-undecidable",
        f"event {event.sequence_number} cannot be replayed for the comparison: {reason}",
        where=str(event.table_id),
    )
