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
EVENTS, VARIANT, CHAIN = 11_500, 1_000, 200


def test_names_are_all_that_there_are() -> None:
    # Typed rows are of tables that are known: tests/property/format/test_typed.py.
    assert sorted((*NAMES, "headwater-avro-typed")) == sorted(formats.names())


@cache
def foreign(name: str) -> tuple[list[bytes], EventBatch]:
    """Records of the format as other producers write them, and their events; made once."""
    rng = random.Random(f"{name} records")
    made: list[bytes] = []
    text = BINARY.get(name, name)
    operations = records.ROWS if name == "cdc-format" else (*records.ROWS * 4, *records.ROWLESS)
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


def plain(name: str, events: EventBatch) -> list[str]:
    """The events' records in canonical JSON; a binary one as the JSON record that it carries."""
    text = BINARY.get(name, name)
    if name in BINARY:
        events = formats.decode(formats.encode(events, name), name)
    return [canonical(loads(record.decode())) for record in formats.encode(events, text)]


def sample(*names: str) -> tuple[EventBatch, list[str]]:
    """Events of the first format that all of them have a form for, and its records of them."""
    few = not set(names) <= set(FAMILIES)
    return _sample(names[0], VARIANT if few else EVENTS, rows="cdc-format" in names)


@cache
def _sample(name: str, count: int, *, rows: bool) -> tuple[EventBatch, list[str]]:
    _, events = foreign(name)
    if rows:
        events = events.filter(pc.less_equal(events.column("op"), int(Operation.READ)))
    events = events.slice(0, count)
    return events, plain(name, events)


@pytest.mark.parametrize("name", NAMES)
def test_record_is_the_same_when_it_is_read_and_written(name: str) -> None:
    made, events = foreign(name)
    if name in BINARY:
        assert list(formats.encode(events, name)) == made
        return
    assert plain(name, events) == [canonical(loads(record.decode())) for record in made]
    bent = events.column("extra").is_valid().to_pylist()
    assert sum(bent) > len(made) // 4, "the generator bends too few records to prove anything"


@pytest.mark.parametrize(("one", "other"), list(permutations(NAMES, 2)))
def test_record_is_the_same_when_it_went_through_another_format(one: str, other: str) -> None:
    events, expected = sample(one, other)
    assert len(events) >= (10_000 if {one, other} <= set(FAMILIES) else VARIANT * 4 // 5)
    back = formats.decode(formats.encode(events, other), other)
    assert plain(one, back) == expected


@pytest.mark.parametrize(("one", "two", "three"), list(permutations(FAMILIES, 3)))
def test_record_is_the_same_when_it_went_through_two_formats(
    one: str, two: str, three: str
) -> None:
    """There and back the same way, and straight back from the second."""
    events, expected = sample(one, two, three)
    events = events.slice(0, CHAIN)
    there = formats.decode(formats.encode(events, two), two)
    there = formats.decode(formats.encode(there, three), three)
    back = formats.decode(formats.encode(there, two), two)
    assert plain(one, back) == expected[:CHAIN]
    assert plain(one, there) == expected[:CHAIN]
