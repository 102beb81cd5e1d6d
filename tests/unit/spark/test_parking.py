"""When a parked table is tried again, and which errors may park one."""

import pytest

from headwater.errors import ConfigError, DataError, TransientError
from headwater.spark.apply.parking import Held, Parking

ERROR = DataError("value-mistyped", "x")


class MemoryPlaces:
    def __init__(self, **parked: int) -> None:
        self.kept = parked

    def parked(self) -> dict[str, Held]:
        return {name: Held(after) for name, after in self.kept.items()}

    def park(self, name: str, after: int) -> None:
        self.kept[name] = after

    def release(self, name: str) -> None:
        del self.kept[name]


def test_parked_table_is_tried_more_and_more_seldom() -> None:
    parking = Parking(MemoryPlaces(a=7), "park")
    tried = []
    for batch in range(1, 30):
        for name in parking.due():
            assert (name, parking.stay(name).after) == ("a", 7)
            tried.append(batch)
            parking.failed(name, 7 + batch, ERROR)
    assert tried == [1, 6, 15]


def test_place_is_kept_until_the_table_is_well() -> None:
    places = MemoryPlaces()
    parking = Parking(places, "park")
    parking.failed("a", 3, ERROR)
    parking.failed("a", 9, ERROR)
    assert places.kept == {"a": 3}
    parking.released("a")
    assert not places.kept
    assert "a" not in parking


@pytest.mark.parametrize(
    ("error", "alone", "parks"),
    [
        (ERROR, False, True),
        (ConfigError("spark-no-key", "x"), False, True),
        (TransientError("spark-table-busy", "x"), True, False),
        (OSError("the storage is away"), False, False),
        (OSError("one folder is not ours"), True, True),
    ],
)
def test_error_parks_when_it_is_the_table_s_own(error: Exception, alone: bool, parks: bool) -> None:
    parking = Parking(MemoryPlaces(), "park")
    assert parking.may_park("a", error, alone=alone) is parks
    assert not Parking(MemoryPlaces(), "halt").may_park("a", error, alone=alone)


def test_table_that_is_parked_may_fail_again_when_nothing_else_goes_on() -> None:
    """On a quiet log it is tried by itself; the stream would end there at every start."""
    parking = Parking(MemoryPlaces(a=3), "park")
    assert parking.may_park("a", OSError("a constraint"), alone=False)
    assert not parking.may_park("b", OSError("a constraint"), alone=False)
    assert not parking.may_park("a", TransientError("spark-contended", "x"), alone=False)
