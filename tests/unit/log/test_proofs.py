"""When each table was last proven equal, in the log's file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from headwater.log import Compared, SqliteLog


def test_proofs_keep_the_last_equal_moment_when_a_table_differs_later(tmp_path: Path) -> None:
    log = SqliteLog.create(tmp_path / "shop.hwlog")
    log.note_proofs("lake", 7, [Compared("orders", equal=True, rows=3, hash="ab")])
    log.note_proofs("lake", 9, [Compared("orders", equal=False, rows=4, hash="cd")])
    log.note_proofs("lake", 9, [Compared("customers", equal=False, rows=1, hash="ef")])
    log.note_proofs("other", 1, [Compared("orders", equal=True, rows=1, hash="00")])
    customers, orders = log.proofs("lake")
    assert (orders.equal, orders.sequence) == (False, 9)
    assert (orders.equal_sequence, orders.rows, orders.hash) == (7, 3, "ab")
    assert orders.equal_at_ms is not None
    assert orders.at_ms >= orders.equal_at_ms
    assert (customers.equal, customers.equal_sequence, customers.equal_at_ms) == (False, None, None)


def test_proofs_are_empty_when_the_log_was_made_by_an_older_program(tmp_path: Path) -> None:
    log = SqliteLog.create(tmp_path / "shop.hwlog")
    with sqlite3.connect(log.path) as db:
        db.execute("DROP TABLE proof")
    assert log.proofs("lake") == ()
    log.note_proofs("lake", 1, [Compared("orders", equal=True, rows=1, hash="00")])
    assert [each.table for each in log.proofs("lake")] == ["orders"]
