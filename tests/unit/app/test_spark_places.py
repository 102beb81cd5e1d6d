"""Places of parked tables as cursors of the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.app.spark import TableJob
from headwater.app.spark.places import CursorPlaces
from headwater.app.spark.release import release
from headwater.event import TableId
from headwater.log import SqliteLog
from headwater.spark.apply.parking import Held
from headwater.testing.builders import IDENTITY, inserts, source_batch


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


@pytest.mark.parametrize(
    ("after", "held", "without"),
    [
        (None, Held(2), None),
        # A table that was removed at that very event goes on from there, and not from its first.
        (2, Held(2, released=True), None),
        (1, Held(2, released=True), None),
        (4, Held(4, released=True), [3, 4]),
    ],
)
def test_released_table_goes_on_from_the_event_that_people_chose(
    log: SqliteLog, after: int | None, held: Held, without: list[int] | None
) -> None:
    log.writer(IDENTITY).append(source_batch(inserts(1, 5), 5))
    places = CursorPlaces(log.path, "spark")
    places.park("items@mirror", 2)
    (told,) = release(TableJob(log.path, "lake"), "items", after)["released"]
    assert places.parked() == {"items@mirror": held}
    assert told == {"table": "items@mirror", "goes_on_after": held.after, "without": without}
