"""Log: the durable record between capture and consumers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from headwater.contract.source import SourceBatch, SourceIdentity
from headwater.event import EventBatch, Position, TableId, TableSchema


@dataclass(frozen=True, slots=True)
class LogBounds:
    """Sequence numbers that can be read: `tail` is the first one kept, `head` the last visible.

    An empty log has head == tail - 1.
    """

    tail: int
    head: int


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """A stored run of events, for planning parallel reads."""

    first_sequence: int
    last_sequence: int
    bytes: int
    closes_transaction: bool
    max_ts_ms: int


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a consumer is behind: events, their stored bytes, and how long the oldest waits.

    It is zero when nothing waits, however long ago the last event was.
    """

    events: int = 0
    bytes: int = 0
    seconds: float = 0.0


class SchemaHistory(Protocol):
    """Every version of every table's shape, by content id."""

    def schema(self, schema_id: int) -> TableSchema:
        """The version with this id."""
        ...

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        """All versions with the sequence number from which each is used, in that order."""
        ...


class LoadHistory(Protocol):
    """Which tables' rows were still being read from the source, and when."""

    def owes(self, table: TableId, until: int) -> bool:
        """Whether rows of the table that the source has promised come after `until`."""
        ...

    def loads(self) -> int:
        """How many tables have had all of their rows so far; it only grows."""
        ...


class TableHistory(SchemaHistory, LoadHistory, Protocol):
    """What a reader must know of tables beside their events."""


class LogReader(TableHistory, Protocol):
    """Reads visible events. Any number of readers, in any process, beside the writer."""

    @property
    def log_id(self) -> str:
        """The log's own identity: a consumer that meets another one was pointed elsewhere."""
        ...

    def bounds(self) -> LogBounds:
        """What can be read now."""
        ...

    def read(self, after: int, until: int | None = None) -> Iterator[EventBatch]:
        """Stored batches with after < sequence <= until (the head now, if None), in order.

        Deterministic for any fixed range. A range that retention removed raises `log-truncated`,
        damage raises `log-corrupt`; neither is ever skipped.
        """
        ...

    def segments(self, after: int, until: int) -> tuple[SegmentInfo, ...]:
        """The stored runs that hold the range (after, until]."""
        ...

    def lag(self, after: int, now_ms: int) -> Lag:
        """What waits for a consumer whose last event is `after`."""
        ...

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        ...


class LogWriter(Protocol):
    """The only writer of a log, fenced: a stale one cannot commit."""

    @property
    def position(self) -> Position | None:
        """The durable source position: where capture resumes. It never moves back (INV-5)."""
        ...

    @property
    def head(self) -> int:
        """The last visible sequence number, 0 when empty."""
        ...

    def append(self, batch: SourceBatch) -> int:
        """Make events, position and schemas durable as one (INV-6); returns the visible head.

        A piece that does not close its transaction is kept but stays unseen; the position then
        stands still, so a crash cuts the pieces off and the source sends them again (INV-7).
        """
        ...

    def close(self) -> None:
        """Give the log free for another writer. Safe to call twice."""
        ...


class Cursor(Protocol):
    """One consumer's place in a log, kept in the log's own file."""

    @property
    def name(self) -> str:
        """The consumer's name."""
        ...

    @property
    def acked(self) -> int:
        """The last acknowledged sequence number, durable."""
        ...

    def ack(self, sequence: int) -> None:
        """Move to `sequence`, durably; never backwards (INV-1, INV-5)."""
        ...

    def close(self) -> None:
        """Release the file. Safe to call twice."""
        ...


class Log(Protocol):
    """A log that can be written once and read many times."""

    def writer(self, source: SourceIdentity) -> LogWriter:
        """Take the log over for writing: raises `log-locked` while another writer lives."""
        ...

    def reader(self) -> LogReader:
        """A new reader."""
        ...

    def cursor(self, name: str, *, required: bool = False, start: int = 0) -> Cursor:
        """The cursor of that name; made at `start` if it is new.

        `required` cursors hold retention back; the others may be overtaken by it.
        """
        ...
