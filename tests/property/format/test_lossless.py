"""Any format to any other and back is the identity on canonical JSON, and two hops are as well.

Most events are as a source captured them, and formats read them alike; the others are as foreign
producers write them, bent anew for each format. A conversion is a function of its events, so those
that several formats share are converted once, and an event that came back the same is not written
again to see that its record is the same.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import permutations

import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater import formats
from headwater.errors import DataError
from headwater.event import EventBatch, Operation
from headwater.format.jsontext import canonical, loads
from headwater.testing.strategies import event_batches
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
CAPTURED, FOREIGN, PIECE, CHAIN = 7_600, 2_900, 50, 20
ALL = (*records.ROWS * 4, *records.ROWLESS)


def test_names_are_all_that_there_are() -> None:
    # Typed rows are of tables that are known: tests/property/format/test_typed.py.
    assert sorted((*NAMES, "headwater-avro-typed")) == sorted(formats.names())


def operations(*names: str) -> tuple[Operation, ...]:
    return records.ROWS if "cdc-format" in names else ALL


@cache
def captured(operations: tuple[Operation, ...]) -> EventBatch:
    """Events without what belongs to a log, which only some formats have a place for."""
    batch = records.batch(random.Random("captured"), CAPTURED, operations)
    return convert(batch, "headwater-json")


@cache
def natural(name: str, operations: tuple[Operation, ...]) -> EventBatch:
    """What the format reads of its own records of captured events; one batch where it is shared."""
    events, shared = convert(captured(operations), name), captured(operations)
    return shared if shared.equals(events) else events


@cache
def foreign(name: str) -> tuple[list[bytes], EventBatch]:
    """Records of the format as other producers write them, and their events."""
    if name in BINARY:
        made = list(formats.encode(foreign(BINARY[name])[1], name))
        return made, formats.decode(made, name)
    rng = random.Random(f"{name} records")
    written = formats.encode(records.batch(rng, FOREIGN, operations(name)), name)
    pieces = [accepted(rng, name, written[at : at + PIECE]) for at in range(0, FOREIGN, PIECE)]
    made = [record for piece, _ in pieces for record in piece]
    return made, EventBatch.concat([events for _, events in pieces])


def accepted(
    rng: random.Random, name: str, written: Sequence[bytes]
) -> tuple[list[bytes], EventBatch]:
    """Bent records; one that is bent beyond its format, which is refused, as it was written."""
    bent = [records.bend(rng, name, record) for record in written]
    while True:
        try:
            return bent, formats.decode(bent, name)
        except DataError as error:
            row = int(error.where.removeprefix("record "))
            if bent[row] == written[row]:
                raise
            bent[row] = written[row]


@cache
def bent(*names: str, count: int = FOREIGN) -> EventBatch:
    """Foreign events of the first format that all of them have a form for."""
    events = foreign(names[0])[1]
    if "cdc-format" in names:
        events = events.filter(pc.less_equal(events.column("op"), int(Operation.READ)))
    return events.slice(0, count)


def convert(events: EventBatch, *path: str) -> EventBatch:
    for name in path:
        events = formats.decode(formats.encode(events, name), name)
    return events


convert_once = cache(convert)  # a batch is its own key: it is equal to itself alone


def plain(name: str, events: EventBatch) -> list[str]:
    """The events' records in canonical JSON; a binary one as the JSON record that it carries."""
    if name in BINARY:
        events = convert(events, name)
    written = formats.encode(events, BINARY.get(name, name))
    return [canonical(loads(record.decode())) for record in written]


def assert_same_records(name: str, back: EventBatch, events: EventBatch) -> None:
    if not back.equals(events):
        assert plain(name, back) == plain(name, events)


@pytest.mark.parametrize("name", NAMES)
def test_record_is_the_same_when_it_is_read_and_written(name: str) -> None:
    written = list(formats.encode(captured(operations(name)), name))
    assert list(formats.encode(natural(name, operations(name)), name)) == written
    made, events = foreign(name)
    if name in BINARY:
        assert list(formats.encode(events, name)) == made
        return
    assert plain(name, events) == [canonical(loads(record.decode())) for record in made]
    told = len(events) - events.column("extra").null_count
    assert told > (len(written) + len(made)) // 4, (
        "the generator bends too few records to prove anything"
    )


@pytest.mark.parametrize(("one", "other"), list(permutations(NAMES, 2)))
def test_record_is_the_same_when_it_went_through_another_format(one: str, other: str) -> None:
    ours = natural(one, operations(one, other))
    theirs = bent(one, other)
    assert len(ours) + len(theirs) >= 10_000
    assert_same_records(one, convert_once(ours, other), ours)
    assert_same_records(one, convert(theirs, other), theirs)


@pytest.mark.parametrize(("one", "two"), list(permutations(NAMES, 2)))
def test_record_is_the_same_when_it_went_through_two_formats(one: str, two: str) -> None:
    """There and back the same way, and straight back from the second."""
    for three in set(NAMES) - {one, two}:
        events = bent(one, two, three, count=CHAIN)
        there = convert(events, two, three)
        assert_same_records(one, there, events)
        assert_same_records(one, convert(there, two), events)


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True), draw=st.data())
def test_any_events_are_the_same_when_they_went_through_any_formats(
    path: list[str], draw: st.DataObject
) -> None:
    captured = draw.draw(event_batches(operations=operations(*path)))
    events = convert(captured, path[0])
    assert_same_records(path[0], convert(events, *path[1:]), events)
