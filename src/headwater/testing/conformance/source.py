"""What every source owes. Subclass, give a driver that changes the real database, and run pytest.

    class TestMySource(SourceConformance):
        @pytest.fixture
        def driver(self, tmp_path: Path) -> SourceDriver:
            return MyDriver(tmp_path)

The suite plays the log's part with a MemoryLog, which crashes wherever a test likes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import pytest

from headwater.contract import Phase, Source, SourceBatch
from headwater.errors import GapError
from headwater.event import EventBatch, Operation, validate
from headwater.testing.memory import MemoryLog
from headwater.testing.script import Change

Row = tuple[int, str | None]


class SourceDriver(Protocol):
    """Changes a real database: table `items` (id integer primary key, value text)."""

    def source(self) -> Source:
        """A new source on that database, not opened, that captures `items`."""
        ...

    def commit(self, changes: Sequence[Change], context: Mapping[str, Any] | None = None) -> None:
        """Make the changes in one transaction, with an application context where supported."""
        ...

    def add_column(self, name: str) -> None:
        """Add a nullable text column to `items`; used where `schema_changes` is declared."""
        ...

    def lose_history(self) -> None:
        """Remove changes that no source has read yet, as a purge of the database's log would."""
        ...


def put(key: int, value: str) -> Change:
    """An insert."""
    return Change(key, value)


def update(key: int, value: str) -> Change:
    """An update."""
    return Change(key, value, Operation.UPDATE)


def remove(key: int) -> Change:
    """A delete."""
    return Change(key, None, Operation.DELETE)


class SourceConformance:
    """The suite. `patience_s` is how long a source may take to show a committed change."""

    patience_s: ClassVar[float] = 0.2

    @pytest.fixture
    def driver(self) -> SourceDriver:
        """The database under test."""
        raise NotImplementedError

    def capture(
        self,
        driver: SourceDriver,
        log: MemoryLog,
        *,
        max_events: int = 100,
        batches: int | None = None,
    ) -> list[SourceBatch]:
        """One run of a capture process: until nothing comes, or cut off after some batches."""
        source = driver.source()
        writer = log.writer(source.identity)
        got: list[SourceBatch] = []
        try:
            source.open(writer.position)
            while len(got) != batches:
                batch = source.read(max_events, self.patience_s)
                if batch is None:
                    break
                assert len(batch.events) <= max_events
                validate(batch.events)
                got.append(batch)
                writer.append(batch)
                if batch.events.closes_transaction and writer.position is not None:
                    source.confirm(writer.position)
        finally:
            source.close()
            writer.close()
        return got

    def begin(self, driver: SourceDriver) -> MemoryLog:
        """A log whose capture has reached the stream."""
        log = MemoryLog()
        self.capture(driver, log)
        return log

    def test_identity_is_the_same_for_every_source_when_not_opened(
        self, driver: SourceDriver
    ) -> None:
        assert driver.source().identity == driver.source().identity

    def test_close_is_safe_when_called_twice(self, driver: SourceDriver) -> None:
        source = driver.source()
        source.open(None)
        source.close()
        source.close()

    def test_read_returns_none_when_nothing_was_committed(self, driver: SourceDriver) -> None:
        log = self.begin(driver)
        assert self.capture(driver, log) == []

    def test_snapshot_reads_existing_rows_when_declared(self, driver: SourceDriver) -> None:
        if not driver.source().capabilities.snapshot:
            pytest.skip("the source declares no snapshot")
        driver.commit([put(key, f"v{key}") for key in range(1, 8)])
        log = MemoryLog()
        batches = self.capture(driver, log, max_events=3)
        assert {batch.phase for batch in batches if len(batch.events)} == {Phase.SNAPSHOT}
        assert _ops(log.events()) == [Operation.READ] * 7
        assert _state(log.events()) == {key: f"v{key}" for key in range(1, 8)}
        if any(batch.owed is not None for batch in batches):
            self._assert_rows_are_owed_until_the_last(log, batches)

    def _assert_rows_are_owed_until_the_last(
        self, log: MemoryLog, batches: list[SourceBatch]
    ) -> None:
        reader, head, heads = log.reader(), 0, []
        for batch in batches:
            head += len(batch.events)
            if batch.events.closes_transaction and head:
                heads.append(head)
        (schema,) = {schema.table: schema for _, schema in reader.schemas()}.values()
        owed = [reader.owes(schema.table, until) for until in heads]
        assert owed == [until < log.head for until in heads]

    def test_snapshot_hands_over_without_loss_when_rows_change_meanwhile(
        self, driver: SourceDriver
    ) -> None:
        driver.commit([put(key, "old") for key in range(1, 10)])
        log = MemoryLog()
        self.begin_slowly(driver, log)
        expected = dict.fromkeys(range(1, 10), "old") | {1: "new", 9: "new", 50: "born"}
        del expected[5]
        if not driver.source().capabilities.snapshot:
            expected = {50: "born", 1: "new", 9: "new"}
        assert _state(log.events()) == expected

    def begin_slowly(self, driver: SourceDriver, log: MemoryLog) -> None:
        """A snapshot of small chunks, with commits between them."""
        edits = [[update(1, "new")], [remove(5)], [put(50, "born"), update(9, "new")]]
        self.capture(driver, log, max_events=2, batches=1)
        for edit in edits:
            driver.commit(edit)
            self.capture(driver, log, max_events=2, batches=1)
        self.capture(driver, log, max_events=2)

    def test_changes_come_in_commit_order_when_streaming(self, driver: SourceDriver) -> None:
        log = self.begin(driver)
        head = log.head
        driver.commit([put(1, "a"), put(2, "b")])
        driver.commit([update(1, "c")])
        driver.commit([remove(2), put(3, "d")])
        self.capture(driver, log)
        stream = _after(log, head)
        assert _ops(stream) == [
            Operation.INSERT,
            Operation.INSERT,
            Operation.UPDATE,
            Operation.DELETE,
            Operation.INSERT,
        ]
        assert [event.key() for event in stream] == [{"id": key} for key in (1, 2, 1, 2, 3)]

    @pytest.mark.parametrize("max_events", [1, 2, 100])
    def test_every_change_is_kept_once_when_the_process_ends_after_any_batch(
        self, driver: SourceDriver, max_events: int
    ) -> None:
        log = self.begin(driver)
        head = log.head
        expected: list[Row] = []
        for number in range(1, 7):
            changes = [put(number * 10 + index, f"v{number}") for index in range(number % 3 + 1)]
            driver.commit(changes)
            expected += [(change.key, change.value) for change in changes]
        # A cut inside a transaction starts it again, so the allowance grows until it fits.
        for batches in (1, 1, 2, 1, 3, 2, 5, 8, 13, 21, 34):
            self.capture(driver, log, max_events=max_events, batches=batches)
        assert _rows(_after(log, head)) == expected

    def test_event_ids_repeat_when_changes_are_read_again(self, driver: SourceDriver) -> None:
        log = self.begin(driver)
        driver.commit([put(1, "a"), put(2, "b")])
        resume = log.position
        source = driver.source()
        seen = []
        for _ in range(2):  # INV-3, INV-8: not confirmed, so it must come again, and be the same
            source.open(resume)
            batch = source.read(100, self.patience_s)
            assert batch is not None
            seen.append(batch.events.column("event_id").to_pylist())
            source.close()
        assert seen[0] == seen[1]
        assert len(set(seen[0])) == 2

    def test_unconfirmed_changes_come_again_when_earlier_ones_were_confirmed(
        self, driver: SourceDriver
    ) -> None:
        log = self.begin(driver)
        head = log.head
        driver.commit([put(1, "a")])
        driver.commit([put(2, "b")])
        self.capture(driver, log, max_events=1, batches=1)
        self.capture(driver, log)
        assert _rows(_after(log, head)) == [(1, "a"), (2, "b")]

    def test_transactions_stay_whole_when_declared(self, driver: SourceDriver) -> None:
        if not driver.source().capabilities.exact_transactions:
            pytest.skip("the source declares no exact transactions")
        log = self.begin(driver)
        head = log.head
        for first, size in ((1, 3), (10, 1), (20, 5)):
            driver.commit([put(first + index, "x") for index in range(size)])
        self.capture(driver, log, max_events=2)
        assert (_after(log, head).borders() - head).tolist() == [3, 4, 9]

    def test_before_image_has_the_old_row_when_declared(self, driver: SourceDriver) -> None:
        if not driver.source().capabilities.before_image:
            pytest.skip("the source declares no before image")
        log = self.begin(driver)
        driver.commit([put(1, "a")])
        self.capture(driver, log)
        head = log.head
        driver.commit([remove(1)])
        self.capture(driver, log)
        (event,) = _after(log, head)
        assert event.before is not None
        assert (event.before["id"], event.before["value"]) == (1, "a")

    def test_truncate_is_an_event_when_declared(self, driver: SourceDriver) -> None:
        if not driver.source().capabilities.truncate:
            pytest.skip("the source declares no truncate")
        log = self.begin(driver)
        head = log.head
        driver.commit([Change(0, None, Operation.TRUNCATE)])
        self.capture(driver, log)
        assert _ops(_after(log, head)) == [Operation.TRUNCATE]

    def test_schema_versions_follow_the_table_when_a_column_is_added(
        self, driver: SourceDriver
    ) -> None:
        if not driver.source().capabilities.schema_changes:
            pytest.skip("the source declares no schema changes")
        log = self.begin(driver)
        driver.commit([put(1, "a")])
        self.capture(driver, log)
        driver.add_column("extra")
        driver.commit([put(2, "b")])
        self.capture(driver, log)
        *_, event = log.events()
        version = log.reader().schema(event.schema_id)
        assert version.column("extra") is not None

    def test_context_is_carried_when_declared(self, driver: SourceDriver) -> None:
        if not driver.source().capabilities.context:
            pytest.skip("the source declares no context")
        log = self.begin(driver)
        driver.commit([put(1, "a"), put(2, "b")], context={"user_id": "u1"})
        if not driver.source().capabilities.exact_transactions:
            self.capture(driver, log)  # it cannot tell where a context's transaction ends
        driver.commit([put(3, "c")])
        self.capture(driver, log)
        users = [(event.context or {}).get("user_id") for event in log.events()]
        assert users == ["u1", "u1", None]

    def test_gap_is_an_error_when_history_was_lost(self, driver: SourceDriver) -> None:
        log = self.begin(driver)
        driver.commit([put(1, "a")])
        self.capture(driver, log)
        head = log.head
        driver.commit([put(2, "b")])
        driver.lose_history()
        driver.commit([put(3, "c")])
        with pytest.raises(GapError):
            self.capture(driver, log)
        assert log.head == head  # INV-9: nothing after the gap was kept


def _after(log: MemoryLog, sequence: int) -> EventBatch:
    return EventBatch.concat(list(log.reader().read(sequence)))


def _ops(events: EventBatch) -> list[Operation]:
    return [Operation(op) for op in events.column("op").to_pylist()]


def _rows(events: EventBatch) -> list[Row]:
    images = [event.after or event.before or {} for event in events]
    return [(image["id"], image["value"]) for image in images]


def _state(events: EventBatch) -> dict[int, str | None]:
    """What a table holds after the events."""
    table: dict[int, str | None] = {}
    for event in events:
        key = int((event.key() or {"id": 0})["id"])
        if event.op is Operation.DELETE:
            table.pop(key, None)
        elif event.after is not None:
            table[event.after["id"]] = event.after["value"]
    return table
