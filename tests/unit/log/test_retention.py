"""Retention: what goes, what stays, and who held it back."""

import time
from pathlib import Path

import pytest

from headwater.errors import GapError
from headwater.log import RetentionPolicy, SqliteLog
from headwater.testing.builders import IDENTITY, TS_MS, inserts, source_batch


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog.create(tmp_path / "events.hwlog")
    writer = log.writer(IDENTITY)
    for start in (1, 100_001, 200_001):  # the number of a change is its time in ms
        writer.append(source_batch(inserts(start, 10), start + 9))
    writer.close()
    return log


def _age_of(change: int) -> int:
    return time.time_ns() // 1_000_000 - (TS_MS + change)


def test_retention_keeps_everything_when_no_limit_is_set(log: SqliteLog) -> None:
    assert log.retain(RetentionPolicy()).removed_events == 0


def test_retention_removes_whole_segments_when_they_are_too_old(log: SqliteLog) -> None:
    report = log.retain(RetentionPolicy(max_age_ms=_age_of(50_000)))
    assert (report.removed_events, report.tail, report.held_by) == (10, 11, None)
    assert log.reader().bounds().tail == 11


def test_retention_removes_the_oldest_when_the_log_is_too_big(log: SqliteLog) -> None:
    size = log.info().payload_bytes
    report = log.retain(RetentionPolicy(max_bytes=size - 1))
    assert report.removed_events == 10
    assert log.info().payload_bytes < size


def test_retention_stops_at_the_slowest_required_consumer_and_names_it(log: SqliteLog) -> None:
    log.cursor("spark", required=True).ack(12)
    log.cursor("dashboard").ack(0)
    report = log.retain(RetentionPolicy(max_age_ms=0))
    assert (report.tail, report.held_by) == (11, "spark")


def test_retention_never_cuts_inside_a_transaction(tmp_path: Path) -> None:
    """INV-7: a tail in the middle would show half of it."""
    log = SqliteLog.create(tmp_path / "tx.hwlog")
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 5, tx_id=1, closes_transaction=False), 0))
    writer.append(source_batch(inserts(6, 5, tx_id=1, first_index=5), 10))
    log.cursor("spark", required=True).ack(7)
    assert log.retain(RetentionPolicy(max_age_ms=0)).removed_events == 0


def test_reader_is_told_when_retention_passed_it(log: SqliteLog) -> None:
    """INV-9: removed events are an error, not an empty answer."""
    log.retain(RetentionPolicy(max_age_ms=_age_of(50_000)))
    with pytest.raises(GapError) as caught:
        list(log.reader().read(0))
    assert caught.value.code == "log-truncated"
    assert len(list(log.reader().read(10))) == 2


def test_cursor_begins_at_the_tail_when_earlier_events_are_gone(log: SqliteLog) -> None:
    log.retain(RetentionPolicy(max_age_ms=_age_of(50_000)))
    assert log.cursor("new").acked == 10
