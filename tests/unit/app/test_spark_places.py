"""Places of parked tables as cursors of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.app.spark.places import CursorPlaces
from headwater.event import TableId
from headwater.log import SqliteLog
from headwater.spark.apply.parking import Held


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    return SqliteLog.create(tmp_path / "x.hwlog")


def test_place_is_one_and_says_whether_people_chose_it(log: SqliteLog) -> None:
    places = CursorPlaces(log.path, "spark")
    places.park("orders@mirror", 5)
    assert places.parked() == {"orders@mirror": Held(5)}
    places.park("orders@mirror", 9, released=True)
    assert places.parked() == {"orders@mirror": Held(9, released=True)}
    assert places.claims().of(TableId(None, "orders"), "mirror") == 9
    places.park("orders@mirror", 7)
    assert places.parked() == {"orders@mirror": Held(7)}
    places.release("orders@mirror")
    assert places.parked() == {}
    assert log.places() == ()


@pytest.mark.parametrize("name", ["spark:orders@mirror", "spark:orders@mirror!"])
def test_earlier_place_counts_when_a_crash_has_left_two(log: SqliteLog, name: str) -> None:
    for cursor in ("spark:orders@mirror", "spark:orders@mirror!"):
        log.hold(cursor, 3 if cursor == name else 8)
    places = CursorPlaces(log.path, "spark")
    assert places.parked()["orders@mirror"].after == 3
    assert places.claims().parked == {"orders@mirror": 3}
    places.release("orders@mirror")
    assert log.places() == ()


def test_places_of_tables_that_are_left_out_stay_until_all_are_cleared(log: SqliteLog) -> None:
    CursorPlaces(log.path, "spark").park("orders@mirror", 5, released=True)
    CursorPlaces(log.path, "other").park("orders@mirror", 5)
    some = CursorPlaces(log.path, "spark", ("customers",))
    some.park("customers@scd2", 2)
    assert some.parked() == {"customers@scd2": Held(2)}
    some.clear()
    assert CursorPlaces(log.path, "spark").parked() == {}
    assert CursorPlaces(log.path, "other").parked() == {"orders@mirror": Held(5)}
