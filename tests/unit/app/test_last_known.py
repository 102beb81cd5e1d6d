"""How Spark's tables fare when no process tells: by the log's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.app.config import load_config
from headwater.app.last_known import last_known
from headwater.app.target_name import target_name
from headwater.contract import Lag
from headwater.log import SqliteLog, TakenInfo
from headwater.spark.apply.report import TableReport
from headwater.testing.builders import IDENTITY, inserts, source_batch

LAKE = target_name("delta", "s3://bucket/lake")
CONFIG = """\
version: 1
name: shop
source:
  url: sqlite:///shop.db
log:
  path: {path}
spark:
  target: s3://bucket/lake
"""


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    log = SqliteLog.create(tmp_path / "shop.hwlog")
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 30, tx_id=1), 30))
    writer.close()
    log.hold("spark", 20)
    return log


def _lags(log: SqliteLog, more: str = "") -> dict[str, tuple[int, str | None]]:
    file = log.path.with_name("shop.yaml")
    file.write_text(CONFIG.format(path=log.path) + more)
    known = last_known(load_config(file))
    return {name: (each["lag_events"], each["parked"]) for name, each in known.items()}


def _taken(name: str, sequence: int, parked: str | None = None) -> TakenInfo:
    return TakenInfo(name, sequence, 3, 0.5, 1000, parked)


def test_tables_lag_as_the_stream_does_and_parked_ones_from_their_places(log: SqliteLog) -> None:
    found = [_taken("quiet@mirror", 4), _taken("busy@mirror", 20), _taken("bad@mirror", 9, "x-y")]
    log.note_taken(LAKE, [*found, _taken("well@mirror", 6, "x-y"), _taken("late@mirror", 3)])
    log.note_taken("elsewhere", [_taken("other@mirror", 20)])
    for name, after in (("bad@mirror", 5), ("late@mirror", 3), ("freed@mirror!", 7)):
        log.hold(f"spark:{name}", after)
    log.note_taken(LAKE, [_taken("freed@mirror", 7, "x-y")])
    assert _lags(log) == {
        "bad@mirror": (25, "x-y"),
        "busy@mirror": (10, None),
        "freed@mirror": (23, None),
        "late@mirror": (27, "earlier"),
        "quiet@mirror": (10, None),
        "well@mirror": (10, None),
    }


def test_batch_that_is_taken_counts_before_its_cursor_moves(log: SqliteLog) -> None:
    log.note_taken(LAKE, [_taken("quiet@mirror", 4), _taken("busy@mirror", 28)])
    assert _lags(log) == {"busy@mirror": (2, None), "quiet@mirror": (2, None)}


def test_tables_and_modes_that_are_kept_no_more_are_left_out(log: SqliteLog) -> None:
    names = ("orders@mirror", "orders@scd2", "old@mirror", "keyless@append_log")
    log.note_taken(LAKE, [_taken(name, 4) for name in names])
    assert [*_lags(log)] == ["old@mirror", "orders@mirror"]
    chosen = "  tables: [orders, keyless]\n  modes: {scd2: [orders]}\n  on_no_key: append_log\n"
    assert [*_lags(log, chosen)] == ["keyless@append_log", "orders@scd2"]


def test_nothing_is_known_without_tables(log: SqliteLog) -> None:
    assert _lags(log) == {}


def test_plain_values_are_those_that_a_running_process_tells(log: SqliteLog) -> None:
    log.note_taken(LAKE, [_taken("busy@mirror", 30)])
    _lags(log)
    known = last_known(load_config(log.path.with_name("shop.yaml")))
    assert known["busy@mirror"] == TableReport("busy@mirror", 30, 3, 0.5, at_ms=1000).as_dict(Lag())
