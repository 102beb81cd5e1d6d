"""What every Log owes its users. Subclass `LogConformance`, give `log()`, run with pytest."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from headwater.contract import (
    Lag,
    Log,
    LogBounds,
    LogReader,
    SnapshotProgress,
    SourceBatch,
    SourceIdentity,
)
from headwater.errors import ConfigError, FencedError, GapError, StateError
from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Position,
    TableId,
    TableSchema,
)
from headwater.testing.builders import IDENTITY, ITEMS, TS_MS, inserts, source_batch


def _offsets(reader: LogReader, after: int = 0, until: int | None = None) -> list[str]:
    batches = list(reader.read(after, until))
    return [] if not batches else EventBatch.concat(batches).column("offset").to_pylist()


class LogConformance:
    """Public suite: the promises of contract.Log, one test each."""

    @pytest.fixture
    def log(self) -> Log:
        """A new, empty log; subclasses override it."""
        raise NotImplementedError

    def test_log_is_empty_when_new(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        assert (writer.head, writer.position) == (0, None)
        assert log.reader().bounds() == LogBounds(tail=1, head=0)
        assert list(log.reader().read(0)) == []
        writer.close()

    def test_append_numbers_events_densely_in_commit_order(self, log: Log) -> None:
        """INV-8: dense numbers from 1, in the order of the appends."""
        writer = log.writer(IDENTITY)
        assert writer.append(source_batch(inserts(1, 3), 3)) == 3
        assert writer.append(source_batch(inserts(4, 2), 5)) == 5
        stored = EventBatch.concat(list(log.reader().read(0)))
        assert stored.column("sequence_number").to_pylist() == [1, 2, 3, 4, 5]
        assert stored.column("offset").to_pylist() == [f"change:{n}" for n in range(1, 6)]
        writer.close()

    def test_rows_are_owed_until_their_last_when_a_source_promised_them(self, log: Log) -> None:
        """A load's end is known even when it has no event of its own, and after a restart."""
        items, other = ITEMS.table, TableId("other", "items")
        writer, reader = log.writer(IDENTITY), log.reader()
        chunk = SnapshotProgress(str(items), 2, None, done=False)

        def tell(first: int, count: int, *owed: TableId) -> None:
            told = source_batch(inserts(first, count), first)
            writer.append(replace(told, progress=chunk, owed=owed))

        tell(1, 2, items, other)
        assert [reader.owes(table, until) for table in (items, other) for until in (0, 2, 9)] == [
            *(False, True, True),
            *(False, True, True),
        ]
        writer.close()
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(3, 4), 3))
        assert (reader.owes(items, 6), reader.loads()) == (True, 0)
        tell(7, 1, items)
        writer.append(replace(source_batch(inserts(8, 0), 8), owed=()))
        assert [reader.owes(items, until) for until in (0, 1, 6, 7)] == [False, True, True, False]
        assert [reader.owes(other, until) for until in (1, 2)] == [True, False]
        assert reader.loads() == 2
        tell(8, 1, items)
        assert [reader.owes(items, until) for until in (7, 8)] == [False, True]
        writer.close()

    def test_append_keeps_every_column_of_the_events(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        events = inserts(1, 4, tx_id=9)
        writer.append(source_batch(events, 4))
        (stored,) = log.reader().read(0)
        assert stored.equals(events.with_sequence(1))
        writer.close()

    def test_position_is_what_the_last_append_said_when_reopened(self, log: Log) -> None:
        """INV-3, INV-6: position and events are one."""
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 2), 2))
        writer.close()
        again = log.writer(IDENTITY)
        assert again.position == Position({"change": 2})
        assert again.head == 2
        again.close()

    def test_position_moves_without_events_when_all_were_filtered(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 2), 2))
        empty = EventBatch.concat([])
        assert writer.append(source_batch(empty, 9)) == 2
        assert writer.position == Position({"change": 9})
        assert log.reader().bounds().head == 2
        writer.close()

    def test_transaction_stays_unseen_until_its_closing_piece(self, log: Log) -> None:
        """INV-7: whole or not at all, however many pieces."""
        writer, reader = log.writer(IDENTITY), log.reader()
        piece = inserts(1, 3, tx_id=7, closes_transaction=False)
        assert writer.append(source_batch(piece, 0)) == 0
        assert reader.bounds().head == 0
        assert _offsets(reader) == []
        assert writer.position is None
        writer.append(source_batch(inserts(4, 2, tx_id=7, first_index=3), 5))
        assert reader.bounds().head == 5
        assert len(_offsets(reader)) == 5
        writer.close()

    def test_open_transaction_is_cut_off_when_the_writer_goes(self, log: Log) -> None:
        """INV-7: what the next writer appends takes the numbers of the unfinished pieces."""
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 1), 1))
        writer.append(source_batch(inserts(2, 3, tx_id=7, closes_transaction=False), 1))
        writer.close()
        again = log.writer(IDENTITY)
        assert (again.head, again.position) == (1, Position({"change": 1}))
        again.append(source_batch(inserts(9, 1), 9))
        assert _offsets(log.reader()) == ["change:1", "change:9"]
        again.close()

    def test_stored_pieces_know_where_their_transaction_ends(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 3, tx_id=7, closes_transaction=False), 0))
        writer.append(source_batch(inserts(4, 2, tx_id=7, first_index=3), 5))
        borders = [batch.borders().tolist() for batch in log.reader().read(0)]
        assert [number for batch in borders for number in batch] == [5]
        writer.close()

    def test_read_gives_exactly_the_range_when_it_cuts_batches(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        for start in (1, 11, 21):
            writer.append(source_batch(inserts(start, 10), start + 9))
        reader = log.reader()
        assert _offsets(reader, 4, 25) == [f"change:{n}" for n in range(5, 26)]
        assert _offsets(reader, 10, 10) == []
        assert _offsets(reader, 29) == ["change:30"]
        writer.close()

    def test_read_refuses_a_range_beyond_the_head(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 2), 2))
        with pytest.raises(GapError) as caught:
            list(log.reader().read(0, 3))
        assert caught.value.code == "log-behind"
        writer.close()

    def test_segments_cover_the_range(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        for start in (1, 11, 21):
            writer.append(source_batch(inserts(start, 10), start + 9))
        runs = log.reader().segments(5, 15)
        assert runs[0].first_sequence <= 6
        assert runs[-1].last_sequence >= 15
        assert all(a.last_sequence + 1 == b.first_sequence for a, b in pairwise(runs))
        writer.close()

    def test_lag_is_what_waits_after_a_place(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        assert log.reader().lag(0, TS_MS) == Lag()
        for number in range(3):
            writer.append(source_batch(inserts(1 + 4 * number, 4), number + 1))
        reader = log.reader()
        sizes = [each.bytes for each in reader.segments(0, 12)]
        now_ms = TS_MS + 60_000
        oldest_ms = [now_ms - each.max_ts_ms for each in reader.segments(0, 12)]
        assert reader.lag(12, now_ms) == Lag()
        assert reader.lag(0, now_ms) == Lag(12, sum(sizes), oldest_ms[0] / 1000)
        assert reader.lag(4, now_ms) == Lag(8, sum(sizes[1:]), oldest_ms[1] / 1000)
        assert reader.lag(6, now_ms) == Lag(6, sum(sizes[1:]), oldest_ms[1] / 1000)
        writer.close()

    def test_second_writer_is_refused_while_the_first_lives(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        with pytest.raises(FencedError) as caught:
            log.writer(IDENTITY)
        assert caught.value.code == "log-locked"
        writer.close()
        log.writer(IDENTITY).close()

    def test_writer_of_another_source_is_refused(self, log: Log) -> None:
        log.writer(IDENTITY).close()
        with pytest.raises(ConfigError) as caught:
            log.writer(SourceIdentity("scripted", "another"))
        assert caught.value.code == "log-other-source"

    def test_schema_history_keeps_each_version_once(self, log: Log) -> None:
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 2), 2))
        writer.append(source_batch(inserts(3, 2), 4))
        reader = log.reader()
        assert reader.schemas() == ((1, ITEMS),)
        assert reader.schema(ITEMS.schema_id) == ITEMS
        writer.close()

    def test_schema_history_is_in_the_order_of_use_when_a_batch_has_several(self, log: Log) -> None:
        text = LogicalType(Kind.STRING)
        versions = [
            TableSchema(ITEMS.table, (*ITEMS.columns, Column(f"v{n}", text)), ITEMS.primary_key)
            for n in range(5)
        ]
        used = zip(inserts(1, 5), versions, strict=True)
        events = [replace(event, schema_id=schema.schema_id) for event, schema in used]
        writer = log.writer(IDENTITY)
        batch = SourceBatch(
            EventBatch.from_events(events), Position({"change": 5}), tuple(reversed(versions))
        )
        writer.append(batch)
        assert log.reader().schemas() == tuple(enumerate(versions, start=1))
        writer.close()

    def test_cursor_starts_inside_the_log_and_survives_reopening(self, log: Log) -> None:
        """INV-1: only an ack moves it."""
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 5), 5))
        cursor = log.cursor("billing")
        assert cursor.acked == 0
        cursor.ack(3)
        cursor.close()
        assert log.cursor("billing").acked == 3
        assert log.cursor("late", start=99).acked == 5
        writer.close()

    def test_cursor_refuses_to_move_back_or_beyond_the_head(self, log: Log) -> None:
        """INV-5: a durable place never moves backwards."""
        writer = log.writer(IDENTITY)
        writer.append(source_batch(inserts(1, 5), 5))
        cursor = log.cursor("billing")
        cursor.ack(3)
        for wrong in (2, 6):
            with pytest.raises(StateError):
                cursor.ack(wrong)
        assert log.cursor("billing").acked == 3
        writer.close()
