"""What each table took last, in the log's file."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.errors import TransientError
from headwater.log import SqliteLog, TakenInfo

ORDERS = TakenInfo("orders@mirror", 7, 3, 0.5, 1000, None)


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    return SqliteLog.create(tmp_path / "shop.hwlog")


def test_last_batch_of_a_table_counts_and_other_targets_are_apart(log: SqliteLog) -> None:
    other = replace(ORDERS, table="customers@mirror", parked="value-mistyped")
    log.note_taken("lake", [ORDERS, other])
    log.note_taken("lake", [replace(ORDERS, sequence=9, at_ms=2000)])
    log.note_taken("pond", [ORDERS])
    assert log.taken("lake") == (other, replace(ORDERS, sequence=9, at_ms=2000))
    log.forget_taken("lake")
    assert log.taken("lake") == ()
    assert log.taken("pond") == (ORDERS,)


def test_log_of_an_older_program_knows_nothing_and_may_be_told(log: SqliteLog) -> None:
    with sqlite3.connect(log.path) as db:
        db.execute("DROP TABLE taken")
    assert log.taken("lake") == ()
    log.note_taken("lake", [ORDERS])
    assert log.taken("lake") == (ORDERS,)


def test_writer_that_is_at_work_is_not_waited_for_long(log: SqliteLog) -> None:
    log.note_taken("lake", [])
    with sqlite3.connect(log.path, isolation_level=None) as db:
        db.execute("BEGIN IMMEDIATE")
        begin = time.monotonic()
        with pytest.raises(TransientError, match="locked"):
            log.note_taken("lake", [ORDERS])
        assert time.monotonic() - begin < 5
    assert log.taken("lake") == ()


def test_salvage_keeps_what_tables_took(log: SqliteLog) -> None:
    log.note_taken("lake", [ORDERS])
    assert log.salvage() == ()
    assert log.taken("lake") == (ORDERS,)
