"""A capture that a test drives by hand: read, validate, append and confirm, as the loop does it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headwater.contract import LogWriter, SourceBatch
from headwater.errors import TransientError
from headwater.event import Event, Operation, validate
from headwater.source.postgres import PostgresSource, PostgresSourceConfig
from headwater.source.postgres.place import Place
from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.publication import ensure
from headwater.testing.memory import MemoryLog
from tests.fix_postgres import PostgresDatabase

PATIENCE_S = 30.0
QUIET_S = 0.4

Row = dict[str, Any]
Rows = dict[str, dict[tuple[Any, ...], Row]]


def publish(database: PostgresDatabase, **settings: Any) -> PostgresSourceConfig:
    """A configuration whose publication the tables' owner has made."""
    config = database.config(**settings)
    with database.connect() as owner:
        ensure(owner, config, read_tables(owner, config))
    return config


class Capture:
    """One capture process; its log outlives it."""

    def __init__(self, config: PostgresSourceConfig, log: MemoryLog) -> None:
        self.source = PostgresSource(config)
        self.log = log
        self.writer: LogWriter = log.writer(self.source.identity)

    def open(self) -> None:
        """Stand where the log stands."""
        self.source.open(self.writer.position)
        if self.writer.position is not None:
            self.source.confirm(self.writer.position)

    def open_again(self) -> None:
        """What the loop does after a failure that may pass."""
        self.close()
        self.writer = self.log.writer(self.source.identity)
        self.open()

    def close(self) -> None:
        """End source and log writer."""
        self.source.close()
        self.writer.close()

    def step(self, max_events: int = 100, timeout_s: float = QUIET_S) -> SourceBatch | None:
        """One turn of the loop."""
        batch = self.source.read(max_events, timeout_s)
        if batch is None:
            return None
        assert len(batch.events) <= max_events
        validate(batch.events)
        self.writer.append(batch)
        if batch.events.closes_transaction and self.writer.position is not None:
            self.source.confirm(self.writer.position)
        return batch

    def until(self, head: int, max_events: int = 100) -> list[Event]:
        """All events of the log, once there are so many and nothing more comes."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self.step(max_events) is None and self.writer.head >= head:
                return list(self.log.events())
        raise TimeoutError(f"the log ends at {self.writer.head}, not at {head}")

    def settle(self) -> list[Event]:
        """All events of the log, once nothing more comes."""
        return self.until(0)

    @property
    def place(self) -> Place:
        """The log's position spelled out."""
        assert self.writer.position is not None
        return Place.decode(self.writer.position)

    @property
    def lsn(self) -> int:
        """Where the log's position stands."""
        return self.place.lsn


@contextmanager
def capturing(
    config: PostgresSourceConfig, log: MemoryLog | None = None, *, patient: bool = False
) -> Iterator[Capture]:
    """A capture that goes on from where the log stands.

    The server may hold the slot of a capture that has just ended for a moment: a patient one waits.
    """
    capture = Capture(config, MemoryLog() if log is None else log)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                capture.open()
                break
            except TransientError:
                if not patient or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        yield capture
    finally:
        capture.close()


@contextmanager
def streaming(
    database: PostgresDatabase, log: MemoryLog | None = None, **settings: Any
) -> Iterator[Capture]:
    """A capture that has read everything there was: what follows comes from the stream."""
    with capturing(publish(database, **settings), log) as capture:
        capture.settle()
        yield capture


def replay(events: Sequence[Event]) -> Rows:
    """What a consumer holds that began with nothing. A value never sent stays absent.

    A row that is read beside the stream must be the row that the log already tells of.
    """
    rows: Rows = {}
    gone: set[tuple[str, tuple[Any, ...]]] = set()
    for event in events:
        if event.op in (Operation.SCHEMA_CHANGE, Operation.MESSAGE):
            continue
        held = rows.setdefault(event.table, {})
        if event.op is Operation.TRUNCATE:
            held.clear()
            gone = {each for each in gone if each[0] != event.table}
            continue
        old: Row = {}
        if event.before is not None:
            old_key = _key(event, event.before)
            old = held.pop(old_key, {})
            gone.add((event.table, old_key))
        if event.after is not None:
            key = _key(event, event.after)
            known = held.get(key, old)
            if event.op is Operation.READ:
                offset = event.source.offset
                assert (event.table, key) not in gone, f"{offset}: deleted before"
                differing = [n for n, v in known.items() if event.after.get(n, v) != v]
                assert not differing, f"{offset}: {differing} are not as the log says"
            gone.discard((event.table, key))
            kept = {name: known[name] for name in event.unavailable_columns if name in known}
            held[key] = event.after | kept
    return rows


def _key(event: Event, image: Row | None) -> tuple[Any, ...]:
    assert image is not None
    assert event.primary_key
    return tuple(image[name] for name in event.primary_key)


def ops(events: Sequence[Event]) -> list[Operation]:
    """The operations in order."""
    return [event.op for event in events]


def afters(events: Sequence[Event]) -> list[Row | None]:
    """The images in order."""
    return [event.after for event in events]
