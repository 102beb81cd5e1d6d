"""Source: turns a database's own record of changes into event batches and positions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from headwater.contract.capability import SourceCapabilities
from headwater.contract.command import Command, Owed
from headwater.event import EventBatch, Position, TableId, TableSchema


class Phase(Enum):
    """Where the rows of a batch come from."""

    SNAPSHOT = "snapshot"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class SourceIdentity:
    """Which database this is. `uid` is part of every event id, so it must outlive restarts."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class SnapshotProgress:
    """How far the snapshot of one table is. `rows_total` is an estimate where counting is dear.

    `rows_left` are those still to come of this table and of all that follow; None if not known.
    """

    table: str
    rows_done: int
    rows_total: int | None
    done: bool
    rows_left: int | None = None


@dataclass(frozen=True, slots=True)
class SourceBatch:
    """What one read gave: events and the position that a restart resumes from once they are kept.

    `events` may be empty when only the position moved (filtered changes must not hold the source
    back). A batch whose events do not close their transaction is a piece of a larger one; the log
    keeps the pieces unseen until the closing one arrives (INV-7). `owed` are all tables of which
    rows of a snapshot are still to come after this batch; None says nothing new about that.
    """

    events: EventBatch
    position: Position
    schemas: tuple[TableSchema, ...] = ()
    phase: Phase = Phase.STREAM
    progress: SnapshotProgress | None = None
    owed: tuple[TableId, ...] | None = None


class OnGap(Enum):
    """What to do when changes are known to be missing (INV-9)."""

    HALT = "halt"
    RESNAPSHOT = "resnapshot"
    ACCEPT = "accept"


class Source(Protocol):
    """Captures committed changes. Single-threaded: one loop calls it.

    Delivery: every committed change is read at least once; after a restart reading begins at the
    resumed position, and the log's atomic append makes that exactly once in the log.
    """

    @property
    def identity(self) -> SourceIdentity:
        """The database's identity, valid before `open`.

        The log is taken over under this identity to learn the position that `open` resumes from,
        so a source that must connect to find its identity does so here.
        """
        ...

    @property
    def capabilities(self) -> SourceCapabilities:
        """What this source captures."""
        ...

    def open(self, resume: Position | None) -> None:
        """Connect and stand at `resume`, or at the beginning of a snapshot when it is None.

        Raises GapError where changes since `resume` are gone (INV-9).
        """
        ...

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        """The next changes in commit order, or None if there were none within the time."""
        ...

    def confirm(self, position: Position) -> None:
        """Everything up to `position` is durable in the log: the source may forget it (INV-2)."""
        ...

    def close(self) -> None:
        """Release the connection. Safe to call twice."""
        ...


@runtime_checkable
class Measured(Protocol):
    """A source that can say more of itself than its events do."""

    def gauges(self) -> Mapping[str, float]:
        """Numbers worth watching, by name, for example `slot_retained_bytes`."""
        ...


@runtime_checkable
class Backfills(Protocol):
    """A source that reads existing rows beside its stream, when it is asked to."""

    def take(self, command: Command) -> SourceBatch | None:
        """Take a command: once the batch is in the log, it survives every crash. None: not yet.

        A command that was taken before changes nothing, so it may be given again. Raises
        ConfigError or StateError for one that cannot be carried out.
        """
        ...

    def owed(self) -> tuple[Owed, ...]:
        """What is being read, what waits, and what has lately been done."""
        ...
