"""Any format to any other and back is the identity on canonical JSON, and two hops are as well."""

from __future__ import annotations

import random
from functools import cache
from itertools import permutations

import pyarrow.compute as pc
import pytest

from headwater import formats
from headwater.errors import DataError
from headwater.event import EventBatch, Operation
from headwater.format.jsontext import canonical, loads
from tests.property.format import records

NAMES = (
    "headwater-json", "headwater-avro", "headwater-protobuf", "opencdc", "opencdc-protobuf",
    "cdc-format", "debezium", "debezium-schema", "cloudevents",
)  # fmt: skip
BINARY = {
    "headwater-avro": "headwater-json",
    "headwater-protobuf": "headwater-json",
    "opencdc-protobuf": "opencdc",
}
FAMILIES = ("headwater-json", "opencdc", "cdc-format", "debezium", "cloudevents")
EVENTS, VARIANT, CHAIN = 10_000, 1_000, 200


def test_names_are_all_that_there_are() -> None:
    assert sorted(NAMES) == sorted(formats.names())


@cache
def foreign(name: str) -> tuple[list[bytes], EventBatch]:
    """Records of the format as other producers write them, and their events; made once."""
    rng = random.Random(f"{name} records")
    made: list[bytes] = []
    text = BINARY.get(name, name)
    operations = records.ROWS if name == "cdc-format" else tuple(Operation)
    while len(made) < (EVENTS if name in FAMILIES else VARIANT):
        written = list(formats.encode(records.batch(rng, 500, operations), text))
        made += accepted(text, written, [records.bend(rng, text, record) for record in written])
    events = formats.decode(made, text)
    if name in BINARY:
        made = list(formats.encode(events, name))
        events = formats.decode(made, name)
    return made, events


def accepted(name: str, written: list[bytes], bent: list[bytes]) -> list[bytes]:
    """The bent records; one that is bent beyond its format, which is refused, as it was written."""
    while True:
        try:
            formats.decode(bent, name)
        except DataError as error:
            row = int(error.where.removeprefix("record "))
            if bent[row] == written[row]:
                raise
            bent[row] = written[row]
        else:
            return bent


def plain(record: bytes) -> str:
    """A record in canonical JSON."""
    return canonical(loads(record.decode()))


@pytest.mark.parametrize("name", NAMES)
def test_record_is_the_same_when_it_is_read_and_written(name: str) -> None:
    made, events = foreign(name)
    again = formats.encode(events, name)
    if name in BINARY:
        assert list(again) == made
        return
    assert list(map(plain, again)) == list(map(plain, made))
    bent = events.column("extra").is_valid().to_pylist()
    assert sum(bent) > len(made) // 4, "the generator bends too few records to prove anything"


@pytest.mark.parametrize(("one", "other"), list(permutations(NAMES, 2)))
def test_record_is_the_same_when_it_went_through_another_format(one: str, other: str) -> None:
    events = sample(one, other)
    back = formats.decode(formats.encode(events, other), other)
    assert list(formats.encode(back, one)) == list(formats.encode(events, one))


@pytest.mark.parametrize(("one", "two", "three"), list(permutations(FAMILIES, 3)))
def test_record_is_the_same_when_it_went_through_two_formats(
    one: str, two: str, three: str
) -> None:
    """There and back the same way, and straight back from the second."""
    events = sample(one, two, three).slice(0, CHAIN)
    there = formats.decode(formats.encode(events, two), two)
    there = formats.decode(formats.encode(there, three), three)
    back = formats.decode(formats.encode(there, two), two)
    expected = list(formats.encode(events, one))
    assert list(formats.encode(back, one)) == expected
    assert list(formats.encode(there, one)) == expected


def sample(*names: str) -> EventBatch:
    """Events of the first format that all of them have a form for, fewer where variants meet."""
    _, events = foreign(names[0])
    if "cdc-format" in names:
        events = events.filter(pc.less_equal(events.column("op"), int(Operation.READ)))
    return events if set(names) <= set(FAMILIES) else events.slice(0, VARIANT)
