"""What the state says of one table at the end of a batch, and when tables make a whole set."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from headwater.event import TableId
from headwater.spark.modes import Mode

Key = tuple[TableId, Mode]
# The version of a table that the stream keeps no more.
_LEFT = -1


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
    that at `sequence` all tables together may be read. Of a table that the stream keeps no more,
    `applied` is the last event up to which it lacks nothing.
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
        return self.version == _LEFT

    def left(self, sequence: int, before: int) -> Entry:
        """That the stream keeps it no more, from `sequence` on; `before` ends the last batch."""
        whole = before if self.stands_at(before) else self.applied
        return replace(self, sequence=sequence, version=_LEFT, applied=whole, published=False)

    def stands_at(self, sequence: int) -> bool:
        """Whether this version is the table at `sequence`, given that no later entry is."""
        return self.sequence <= self.applied <= sequence


def passed_over(table: TableId, mode: Mode, sequence: int) -> Entry:
    """That the stream did not take what a batch held of a table, which it has never kept."""
    return Entry(
        sequence=sequence,
        table=table,
        mode=mode,
        path="",
        version=_LEFT,
        applied=0,
        published=False,
        committed_at_us=0,
        applied_at_us=time.time_ns() // 1000,
    )


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
