"""MemoryLog: the whole promise of contract.Log in a page, without a disk.

It is the oracle for tests of engines, and the log for people's own tests. `crash()` does to it what
kill -9 does to a file: the open writer is fenced, pieces of an unfinished transaction are gone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow.compute as pc

from headwater.contract import Lag, LogBounds, SegmentInfo, SourceBatch, SourceIdentity
from headwater.errors import ConfigError, FencedError, GapError, StateError
from headwater.event import EventBatch, Position, TableId, TableSchema


@dataclass(slots=True)
class MemoryLoad:
    """A table whose rows were read: since when, its last row so far, and whether it has all."""

    name: str
    first: int
    last: int
    done: bool = False


class MemoryLog:
    """Implements contract.Log."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.stored: list[EventBatch] = []
        self.head = 0
        self.tail = 1
        self.position: Position | None = None
        self.epoch = 0
        self.owner: SourceIdentity | None = None
        self.writing = False
        self.schemas: dict[int, tuple[int, TableSchema]] = {}
        self.cursors: dict[str, int] = {}
        self.loads: list[MemoryLoad] = []

    def writer(self, source: SourceIdentity) -> MemoryLogWriter:
        """Take the log over."""
        with self.lock:
            if self.writing:
                raise FencedError("log-locked", "another writer is open")
            if self.owner not in (None, source):
                raise ConfigError("log-other-source", f"the log belongs to {self.owner}")
            self.owner, self.writing, self.epoch = source, True, self.epoch + 1
            return MemoryLogWriter(self, self.epoch)

    def reader(self) -> MemoryLogReader:
        """A new reader."""
        return MemoryLogReader(self)

    def cursor(self, name: str, *, required: bool = False, start: int = 0) -> MemoryCursor:
        """The cursor of that name; made at `start`, kept inside the log, if it is new."""
        del required
        with self.lock:
            self.cursors.setdefault(name, min(max(start, self.tail - 1), self.head))
        return MemoryCursor(self, name)

    def crash(self) -> None:
        """End the writer as kill -9 would."""
        with self.lock:
            self.epoch += 1
            self.writing = False

    def truncate(self, tail: int) -> None:
        """Let go everything before `tail`, as retention does."""
        with self.lock:
            self.tail = tail

    def events(self) -> EventBatch:
        """Everything visible, in one batch."""
        with self.lock:
            return EventBatch.concat(list(self.reader().read(self.tail - 1)))


class MemoryLogWriter:
    """Implements contract.LogWriter."""

    def __init__(self, log: MemoryLog, epoch: int) -> None:
        self._log = log
        self._epoch = epoch
        self._pieces: list[EventBatch] = []

    @property
    def position(self) -> Position | None:
        """The durable source position."""
        return self._log.position

    @property
    def head(self) -> int:
        """The last visible sequence number."""
        return self._log.head

    def append(self, batch: SourceBatch) -> int:
        """Keep a piece unseen, or make everything since the last border visible at once."""
        with self._log.lock:
            if self._log.epoch != self._epoch:
                raise FencedError("log-fenced", "a newer writer has taken the log over")
            next_sequence = self._log.head + sum(map(len, self._pieces)) + 1
            if len(batch.events):
                self._pieces.append(batch.events.with_sequence(next_sequence))
            used = batch.events.column("schema_id").to_pylist()
            for schema in batch.schemas:
                place = used.index(schema.schema_id) if schema.schema_id in used else 0
                self._log.schemas.setdefault(schema.schema_id, (next_sequence + place, schema))
            if batch.events.closes_transaction:
                first = self._log.head + 1
                self._publish(batch.position)
                self._note_loads(batch, first)
            return self._log.head

    def _note_loads(self, batch: SourceBatch, first: int) -> None:
        head = self._log.head
        begun = {load.name: load for load in self._log.loads if not load.done}
        if batch.progress is not None and batch.progress.table in begun and head >= first:
            begun[batch.progress.table].last = head
        if batch.owed is not None:
            owed = set(map(str, batch.owed))
            for name, load in begun.items():
                load.done = name not in owed
            self._log.loads += [MemoryLoad(name, first, head) for name in owed - begun.keys()]

    def _publish(self, position: Position) -> None:
        self._log.stored += self._pieces
        self._log.head += sum(map(len, self._pieces))
        self._log.position = position
        self._pieces = []

    def close(self) -> None:
        """Give the log free; unfinished pieces go with the writer."""
        with self._log.lock:
            if self._log.epoch == self._epoch:
                self._log.writing = False
                self._log.epoch += 1


class MemoryLogReader:
    """Implements contract.LogReader."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    @property
    def log_id(self) -> str:
        """The log's own identity."""
        return f"memory-{id(self._log)}"

    def bounds(self) -> LogBounds:
        """What can be read now."""
        with self._log.lock:
            return LogBounds(self._log.tail, self._log.head)

    def read(self, after: int, until: int | None = None) -> Iterator[EventBatch]:
        """Stored batches of (after, until]."""
        with self._log.lock:
            end = self._log.head if until is None else until
            if end > self._log.head:
                raise GapError("log-behind", f"the log ends at {self._log.head}, before {end}")
            if after < self._log.tail - 1 and after < end:
                raise GapError("log-truncated", f"events before {self._log.tail} are gone")
            stored = list(self._log.stored)
        for batch in stored:
            first = max(batch.first_sequence, after + 1)
            last = min(batch.last_sequence, end)
            if first <= last:
                yield batch.slice(first - batch.first_sequence, last - first + 1)

    def lag(self, after: int, now_ms: int) -> Lag:
        """What waits for a consumer whose last event is `after`."""
        head = self.bounds().head
        waiting = self.segments(after, head) if after < head else ()
        if not waiting:
            return Lag()
        waits_ms = max(now_ms - waiting[0].max_ts_ms, 0)
        return Lag(head - after, sum(each.bytes for each in waiting), round(waits_ms / 1000, 3))

    def segments(self, after: int, until: int) -> tuple[SegmentInfo, ...]:
        """The stored runs that hold the range."""
        with self._log.lock:
            return tuple(
                SegmentInfo(
                    batch.first_sequence,
                    batch.last_sequence,
                    batch.records.nbytes,
                    batch.closes_transaction,
                    int(pc.max(batch.column("ts_ms")).as_py()),
                )
                for batch in self._log.stored
                if batch.last_sequence > after and batch.first_sequence <= until
            )

    def schema(self, schema_id: int) -> TableSchema:
        """The version with this id."""
        return self._log.schemas[schema_id][1]

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        """All versions, in order of first use."""
        return tuple(sorted(self._log.schemas.values(), key=lambda entry: entry[0]))

    def owes(self, table: TableId, until: int) -> bool:
        """Whether promised rows of the table come after `until`."""
        return any(
            load.name == str(table) and load.first <= until and (not load.done or load.last > until)
            for load in self._log.loads
        )

    def loads(self) -> int:
        """How many tables have had all of their rows so far."""
        return sum(load.done for load in self._log.loads)

    def close(self) -> None:
        """Nothing to release."""


class MemoryCursor:
    """Implements contract.Cursor."""

    def __init__(self, log: MemoryLog, name: str) -> None:
        self._log = log
        self._name = name

    @property
    def name(self) -> str:
        """The consumer's name."""
        return self._name

    @property
    def acked(self) -> int:
        """The last acknowledged sequence number."""
        return self._log.cursors[self._name]

    def ack(self, sequence: int) -> None:
        """Move forward; never back, never beyond the head (INV-1, INV-5)."""
        with self._log.lock:
            if sequence < self.acked:
                raise StateError("cursor-backwards", f"{self._name!r} is at {self.acked}")
            if sequence > self._log.head:
                raise StateError("cursor-ahead", f"{sequence} is beyond the head")
            self._log.cursors[self._name] = sequence

    def close(self) -> None:
        """Nothing to release."""
