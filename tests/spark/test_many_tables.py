"""Many tables in one stream: none is missed, few are written at once, one that fails waits alone.

HEADWATER_CHAOS=full has 200 of them; by default there are fewer, because CI's time is short.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.app.spark import TableJob
from headwater.app.spark.meter import SparkMeter
from headwater.errors import DataError
from headwater.log import SqliteLog
from headwater.observe import PrometheusMetrics
from headwater.spark.apply.report import Reports
from headwater.spark.table.delta import DeltaTarget
from tests.chaos.failpoints import FULL
from tests.shop import Shop

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3600 if FULL else 900)]

COUNT = 200 if FULL else 8
AT_ONCE = 3
NAMES = [f"table_{number:03}" for number in range(COUNT)]
BAD, *WELL = NAMES
PLACE = f"spark:{BAD}@mirror"


class Writers:
    """How many tables are written at the same moment, and how many ever were."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = self.most = self.written = 0

    def counted(self, write: Callable[..., None]) -> Callable[..., None]:
        def count(*given: Any) -> None:
            with self._lock:
                self._now += 1
                self.most = max(self.most, self._now)
            try:
                write(*given)
                with self._lock:
                    self.written += 1
            finally:
                with self._lock:
                    self._now -= 1

        return count


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> Writers:
    found = Writers()
    for name in ("fill", "write"):
        monkeypatch.setattr(DeltaTarget, name, found.counted(getattr(DeltaTarget, name)))
    return found


def _open_many(folder: Path) -> Shop:
    db = sqlite3.connect(folder / "many.db")
    db.execute("PRAGMA journal_mode = WAL")
    for number, name in enumerate(NAMES):
        db.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER)")
        rows = [(each, f"{name} {each}", number) for each in range(3 + number % 3)]
        db.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
    db.commit()
    return Shop(db, folder / "many.db", SqliteLog(folder / "many.hwlog"))


def _change(shop: Shop, turn: int) -> int:
    """Something happens in every table; returns the log's head."""
    for name in NAMES:
        shop.db.execute(f"UPDATE {name} SET amount = amount + 100 WHERE id = 1")
        shop.db.execute(f"DELETE FROM {name} WHERE id = ?", (turn + 1,))
        shop.db.execute(f"INSERT INTO {name} VALUES (?, 'new', ?)", (100 + turn, turn))
    shop.db.commit()
    return shop.drain()


def _differing(spark: SparkSession, shop: Shop, target: Path, names: list[str]) -> list[str]:
    """Tables whose rows are not the source's; one job reads some of them at once.

    A plan of all of them would take Spark longer to make than the tables took to write.
    """
    some = [names[begin : begin + 10] for begin in range(0, len(names), 10)]
    return [each for part in some for each in _differing_of(spark, shop, target, part)]


def _differing_of(spark: SparkSession, shop: Shop, target: Path, names: list[str]) -> list[str]:
    frames = (
        spark.read.format("delta")
        .load(str(target / name))
        .select(f.lit(name).alias("of"), "id", "name", "amount")
        for name in names
    )
    held: dict[str, list[Any]] = {name: [] for name in names}
    for of, *row in reduce(DataFrame.unionAll, frames).collect():
        held[of].append(tuple(row))
    return [
        name
        for name, rows in held.items()
        if sorted(rows) != shop.db.execute(f"SELECT * FROM {name} ORDER BY id").fetchall()
    ]


def test_tables_of_one_stream_go_on_when_one_of_them_fails(
    spark: SparkSession, tmp_path: Path, writers: Writers
) -> None:
    shop, target = _open_many(tmp_path), tmp_path / "lake"
    first = shop.drain()
    metrics = PrometheusMetrics()
    reports = Reports(SparkMeter(metrics))
    job = TableJob(
        shop.log.path, str(target), interval_s=0.1, tables_at_once=AT_ONCE, reports=reports
    )
    stream = job.start(spark)
    try:
        stream.drain()
        assert writers.written == COUNT
        shop.run(f"INSERT INTO {BAD} VALUES (50, 'mistyped', 'seven')")
        head = _change(shop, 0)
        stream.drain()
        # A parked table costs its place and nothing else, until it is tried again.
        shop.run(f"UPDATE {BAD} SET amount = 1 WHERE id = 50", f"DELETE FROM {WELL[0]}")
        head = shop.drain()
        stream.drain()
    finally:
        stream.stop()
    assert writers.most == AT_ONCE
    assert writers.written == COUNT + len(WELL) + 1
    assert _differing(spark, shop, target, WELL) == []
    told = job.status()
    assert {name for name, each in told.items() if each["parked"]} == {f"{BAD}@mirror"}
    lags = {name: each["lag_events"] for name, each in told.items() if each["lag_events"]}
    assert lags == {f"{BAD}@mirror": head - first}
    text = metrics.render()
    for name in NAMES:
        is_bad = name == BAD
        lag = float(head - first if is_bad else 0)
        assert f'headwater_spark_table_lag_events{{table="{name}@mirror"}} {lag}' in text
        assert (f'headwater_spark_table_parked{{table="{name}@mirror"}} 1.0' in text) == is_bad
    assert {each.name: each.acked for each in shop.log.info().cursors}[PLACE] == first

    head = _change(shop, 1)
    with pytest.raises(DataError) as caught:
        TableJob(shop.log.path, str(target), tables_at_once=AT_ONCE).run_once(spark)
    assert caught.value.code == "value-mistyped"
    assert _differing(spark, shop, target, WELL) == []
    assert {each.name: each.acked for each in shop.log.info().cursors} == {
        "spark": head,
        PLACE: first,
    }
    assert writers.most == AT_ONCE
