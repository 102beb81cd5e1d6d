"""What the state says of one table at the end of a batch, and when tables make a whole set."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headwater.event import TableId
from headwater.spark.modes import Mode

Key = tuple[TableId, Mode]
# What stands for the version of a table that is kept no more, and of one that is yet to come.
LEFT, NONE = -1, -2


@dataclass(frozen=True, slots=True)
class Reached:
    """A table after a batch that had changes for it: its version, and the last change in it."""

    table: TableId
    mode: Mode
    place: str
    version: int
    applied: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the state: a table at a sequence number, which is the end of a batch.

    `applied` is the table's own position. It is smaller than `sequence` if the table did not take
    the batch, and larger if it had already gone on, before a crash for example. `published` says
    that at `sequence` all tables together may be read. Of a table that the stream keeps no more, or
    that is yet to come, `applied` is the last event up to which it lacks nothing; its `path` is
    empty as long as it had no event, and not while it is being loaded.
    """

    sequence: int
    table: TableId
    mode: Mode
    path: str
    version: int
    applied: int
    published: bool
    committed_at_us: int
    applied_at_us: int

    @property
    def key(self) -> Key:
        """Which table this is about."""
        return self.table, self.mode

    @property
    def is_left(self) -> bool:
        """Whether the stream keeps the table no more: what it says was true until then."""
        return self.version == LEFT

    @property
    def is_there(self) -> bool:
        """Whether the stream keeps the table, and it had a version then."""
        return self.version >= 0

    @property
    def never_was(self) -> bool:
        """Whether there was no event of the table up to `applied`."""
        return not self.path

    @property
    def is_behind(self) -> bool:
        """Whether it did not take the batch."""
        return self.applied < self.sequence

    def left(self, sequence: int, before: int) -> Entry:
        """That the stream keeps it no more, from `sequence` on; `before` ends the last batch."""
        whole = before if self.stands_at(before) else self.applied
        return replace(self, sequence=sequence, version=LEFT, applied=whole, published=False)

    def stands_at(self, sequence: int) -> bool:
        """Whether this version is the table at `sequence`, given that no later entry is."""
        return self.sequence <= self.applied <= sequence


def passed_over(table: TableId, mode: Mode, sequence: int) -> Entry:
    """That the stream did not take what a batch held of a table, which it has never kept."""
    return _without_table((table, mode), sequence, LEFT, applied=0)


def without_events(key: Key, sequence: int, applied: int | None = None) -> Entry:
    """That a table which the stream keeps is yet to come; `applied` if its first event failed."""
    return _without_table(key, sequence, NONE, applied=sequence if applied is None else applied)


def _without_table(key: Key, sequence: int, version: int, *, applied: int) -> Entry:
    now = time.time_ns() // 1000
    return Entry(sequence, *key, "", version, applied, False, 0, now)  # noqa: FBT003 - unpublished


def nothing_until(entries: Iterable[Entry], table: TableId) -> int:
    """Up to where there was no event of a table, as far as is known: in any mode, for all."""
    told = (each.applied for each in entries if each.table == table and each.never_was)
    return max(told, default=0)


def latest(entries: Iterable[Entry]) -> dict[Key, Entry]:
    """The last entry of each table."""
    found: dict[Key, Entry] = {}
    for entry in entries:
        known = found.get(entry.key)
        if known is None or known.sequence < entry.sequence:
            found[entry.key] = entry
    return found


def out_of_step(last: Mapping[Key, Entry], sequence: int) -> tuple[Entry, ...]:
    """The tables that are not where the others are at `sequence`; none: the set is whole."""
    return tuple(
        entry for entry in last.values() if not entry.is_left and not entry.stands_at(sequence)
    )
