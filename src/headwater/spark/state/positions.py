"""Up to where each table has everything: what a stream may begin after and lose nothing.

A table's own position is its last change, which may lie far behind the log's tail in a table that
rarely changes. The state knows more: a table that was in step when the last batch ended lacks
nothing up to there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from headwater.contract import SchemaHistory
from headwater.event import TableId
from headwater.spark.modes import Mode, Modes
from headwater.spark.state.entry import NONE, Entry, Key, Reached, latest, nothing_until
from headwater.spark.state.table import Written
from headwater.spark.table.target import Standing, Targets


@dataclass(frozen=True, slots=True)
class Place:
    """A table's own position, and up to where it has everything.

    One that goes `apart` is brought after the stream, wherever that begins.
    """

    table: TableId
    mode: Mode
    version: int | None
    applied: int
    complete: int
    apart: bool = False


def newly_kept(written: Written, known: Mapping[Key, int]) -> set[Key]:
    """The tables that a stream keeps now and did not before: it may have passed over their events.

    It left them out, or kept them in other modes alone. `known` are the kept tables, each with its
    first event. All that it kept has an entry, and what it did not as soon as an event of it went
    by: of a table without one in any mode there was nothing. One that is behind is among them, too:
    it goes on from a place of its own, unless that was given up.
    """
    last = latest(written.last)
    met = {entry.table for entry in written.last}
    return {
        key
        for key, first in known.items()
        if (
            last[key].is_left or last[key].is_behind
            if key in last
            else key[0] in met and first <= written.until
        )
    }


def reached(targets: Targets, session: SparkSession, table: TableId, mode: Mode) -> Reached | None:
    """Where a table stands; None while it cannot be seen, as when it is being loaded."""
    target = targets.open(session, table, mode)
    standing = target.standing()
    if standing.version is None:
        return None
    return Reached(table, mode, target.place, standing.version, standing.applied)


def places(
    session: SparkSession,
    targets: Targets,
    history: SchemaHistory,
    modes: Modes,
    written: Written,
) -> list[Place]:
    """The tables of the log and of the state that are kept, by name."""
    known, kept = modes.known(history), modes.knowing(history)
    last = {entry.key: entry for entry in written.last if entry.mode in kept.of(entry.table)}
    new, found = newly_kept(written, known), []
    for key in sorted({*known, *last}, key=lambda key: (str(key[0]), key[1])):
        standing = targets.open(session, *key).standing()
        entry, first = last.get(key), known.get(key, 1)
        if key in new:
            complete = resumes(standing, entry, first, nothing_until(written.last, key[0]))
        else:
            complete = complete_until(standing, entry, written.until, first)
        found.append(Place(*key, standing.version, standing.applied, complete, key in new))
    return found


def resumes(standing: Standing, entry: Entry | None, first: int, nothing: int = 0) -> int:
    """After which event a table goes on that is newly kept; one that is gone begins anew.

    Up to `nothing` there was no event of it.
    """
    if standing.version is None:
        return max(first - 1, nothing)
    return max(standing.applied, first - 1, 0 if entry is None else entry.applied)


def complete_until(standing: Standing, entry: Entry | None, state_until: int, first: int) -> int:
    """Up to where a table has everything that the log ever held for it.

    A table that is yet to come lacks nothing, unless its first event has failed. Without a state,
    it may lack everything from its `first` event on. One that is behind its entry was set back, or
    is gone.
    """
    applied = standing.applied
    if not state_until:
        return applied or first - 1
    seen = 0 if entry is None or entry.version == NONE else entry.applied
    if entry is None or (not entry.is_behind and seen <= applied):
        return max(applied, state_until)
    return applied or first - 1
