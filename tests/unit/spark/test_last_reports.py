"""What tables took last is kept for when no stream runs: seldom, and at the end."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headwater.app.spark.last import LastReports
from headwater.errors import DataError
from headwater.log import SqliteLog
from headwater.spark.apply.report import Reports, TableReport


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    return SqliteLog.create(tmp_path / "shop.hwlog")


def _kept(log: SqliteLog) -> dict[str, tuple[int, str | None]]:
    return {each.table: (each.sequence, each.parked) for each in log.taken("lake")}


def test_reports_are_kept_at_once_then_seldom_and_at_the_end(log: SqliteLog) -> None:
    reports, last = Reports(), LastReports()
    last.keep(log, "lake", reports)
    assert _kept(log) == {}
    last = LastReports()
    reports.applied(TableReport("a", 5, 3, 0.5))
    reports.parked("b", 2, DataError("value-mistyped", "x"))
    last.keep(log, "lake", reports)
    assert _kept(log) == {"a": (5, None), "b": (2, "value-mistyped")}
    reports.applied(TableReport("a", 9, 3, 0.5))
    last.keep(log, "lake", reports)
    assert _kept(log)["a"] == (5, None), "not yet"
    last.keep(log, "lake", reports, at_end=True)
    assert _kept(log) == {"a": (9, None), "b": (2, "value-mistyped")}


def test_only_what_is_new_is_written(log: SqliteLog) -> None:
    reports, last = Reports(), LastReports()
    reports.applied(TableReport("a", 5, 3, 0.5))
    last.keep(log, "lake", reports, at_end=True)
    log.forget_taken("lake")
    reports.applied(TableReport("b", 9, 3, 0.5))
    last.keep(log, "lake", reports, at_end=True)
    assert _kept(log) == {"b": (9, None)}


def test_reports_are_kept_the_next_time_when_the_log_is_busy(log: SqliteLog) -> None:
    reports, last = Reports(), LastReports()
    reports.applied(TableReport("a", 5, 3, 0.5))
    log.note_taken("lake", [])
    with sqlite3.connect(log.path, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        last.keep(log, "lake", reports)
        db.execute("ROLLBACK")
    assert _kept(log) == {}
    last.keep(log, "lake", reports, at_end=True)
    assert _kept(log) == {"a": (5, None)}
