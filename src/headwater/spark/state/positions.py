"""Up to where each table has everything: what a stream may begin after and lose nothing.

A table's own position is its last change, which may lie far behind the log's tail in a table that
rarely changes. The state knows more: a table that was in step when the last batch ended lacks
nothing up to there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from headwater.contract import SchemaHistory
from headwater.event import TableId
from headwater.spark.modes import Mode, Modes
from headwater.spark.state.entry import Entry, Reached
from headwater.spark.table.target import Targets


@dataclass(frozen=True, slots=True)
class Place:
    """A table's own position, and up to where it has everything."""

    table: TableId
    mode: Mode
    version: int | None
    applied: int
    complete: int


@dataclass(frozen=True, slots=True)
class State:
    """The end of the last batch, None if there is no state, and what it says of tables."""

    until: int | None
    last: Sequence[Entry]


def tables_there(
    session: SparkSession, targets: Targets, history: SchemaHistory, modes: Modes
) -> Iterator[Reached]:
    """The tables that exist and have taken something, of all that the log ever knew."""
    for table, mode in modes.known(history):
        found = reached(targets, session, table, mode)
        if found is not None and found.applied:
            yield found


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
    state: State,
) -> list[Place]:
    """The tables of the log and of the state that are kept, by name."""
    known = modes.known(history)
    last = {entry.key: entry for entry in state.last if modes.keeps(entry.table)}
    found = []
    for table, mode in sorted({*known, *last}, key=lambda key: (str(key[0]), key[1])):
        standing = targets.open(session, table, mode).standing()
        entry = last.get((table, mode))
        first = known.get((table, mode), 1)
        complete = complete_until(standing.applied, entry, state.until, first)
        found.append(Place(table, mode, standing.version, standing.applied, complete))
    return found


def complete_until(applied: int, entry: Entry | None, state_until: int | None, first: int) -> int:
    """Up to where a table has everything that the log ever held for it.

    A table that the state never met had no event until `state_until`. Without a state, it may lack
    everything from its `first` event on. One that is behind its entry was set back, or is gone.
    """
    if state_until is None:
        return applied or first - 1
    if entry is None:
        return max(applied, state_until)
    if entry.sequence <= entry.applied <= applied:
        return max(applied, state_until)
    return applied
