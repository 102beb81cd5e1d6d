"""Files of records: what was written is read, and no bytes at all bring a reader down."""

from __future__ import annotations

import json
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater import formats
from headwater.errors import ConfigError, DataError
from headwater.event import EventBatch
from headwater.format.files.blocks import Header
from headwater.format.files.carrier import Broken, Carrier, Framed, Piece
from headwater.format.files.container import CONTAINED, Container
from headwater.format.files.lines import Lines
from headwater.format.files.prefixed import Prefix, Prefixed
from headwater.testing.builders import inserts
from headwater.testing.strategies import event_batches

LIMIT = 300
JSON, AVRO = formats.get("headwater-json"), formats.get("headwater-avro")
CARRIERS: dict[str, Carrier] = {
    "lines": Lines(JSON),
    "delimited": Prefixed(AVRO, Prefix.VARINT),
    "length": Prefixed(AVRO, Prefix.UINT32),
    "container": Container(),
}
SAMPLES: dict[str, bytes] = {}


def written(carrier: Carrier, *groups: EventBatch) -> bytes:
    stream = BytesIO()
    writing = carrier.write(stream)
    for group in groups:
        writing.put(writing.format.encode(group))
    return stream.getvalue()


def read(carrier: Carrier, data: bytes, limit: int = 1 << 20) -> list[Piece]:
    """The pieces; whatever they are, their records decode or are refused as data."""
    try:
        reading = carrier.read(BytesIO(data), limit)
    except ConfigError:
        return []
    found = list(reading.pieces)
    for piece in found:
        assert len(piece.data) <= limit or isinstance(piece, Broken)
        if isinstance(piece, Framed):
            with suppress(DataError):
                reading.format.decode([piece.data])
    return found


@pytest.mark.parametrize("name", CARRIERS)
@given(groups=st.lists(event_batches(max_size=4), max_size=3))
def test_events_are_read_as_written_when_nothing_is_broken(
    name: str, groups: list[EventBatch]
) -> None:
    carrier = CARRIERS[name]
    reading = carrier.read(BytesIO(written(carrier, *groups)), 1 << 20)
    records = [piece.data for piece in reading.pieces if isinstance(piece, Framed)]
    expected = formats.encode(EventBatch.concat(groups), "headwater-json")
    assert formats.encode(reading.format.decode(records), "headwater-json") == expected


@pytest.mark.parametrize("name", CARRIERS)
@given(data=st.binary(max_size=200), limit=st.integers(1, LIMIT))
def test_reader_ends_when_the_bytes_are_any(name: str, data: bytes, limit: int) -> None:
    carrier = CARRIERS[name]
    read(carrier, data, limit)
    if name == "container":
        read(carrier, Header(CONTAINED, codec="null").encode() + data, limit)


@pytest.mark.parametrize("name", CARRIERS)
@given(place=st.integers(0, 10**6), other=st.integers(0, 255), cut=st.booleans())
def test_reader_ends_when_one_byte_is_another_or_the_rest_is_gone(
    name: str, place: int, other: int, cut: bool
) -> None:
    carrier = CARRIERS[name]
    if name not in SAMPLES:
        SAMPLES[name] = written(carrier, inserts(1, 3, tx_id=1), inserts(4, 2))
    data = bytearray(SAMPLES[name])
    place %= len(data)
    data[place] = other
    found = read(carrier, bytes(data[:place]) if cut else bytes(data))
    assert len(found) <= len(data)


@given(st.recursive(st.none() | st.booleans() | st.text(), st.lists))
def test_container_is_refused_when_its_schema_is_any_value(schema: object) -> None:
    data = Header(schema).encode()
    with pytest.raises(ConfigError):
        Container().read(BytesIO(data), LIMIT)


@pytest.mark.parametrize("member", ["type", "name", "namespace", "fields"])
@given(value=st.none() | st.integers() | st.text() | st.lists(st.none() | st.text()))
def test_container_is_read_or_refused_when_a_member_of_its_schema_is_any_value(
    member: str, value: object
) -> None:
    data = Header(json.loads(json.dumps(CONTAINED)) | {member: value}).encode()
    read(Container(), data + b"\x7f\x00")


def test_container_ends_when_datums_have_no_bytes_and_are_beyond_counting() -> None:
    header = Header({"type": "record", "name": "io.rustcdc.Event", "fields": []}, codec="null")
    data = header.encode() + header.block(2**60, b"")
    assert [type(piece) for piece in read(Container(), data)] == [Broken]
