"""Files of records: what is written other readers read, and what is broken costs only itself."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from typing import Any

import fastavro
import pytest
from google.protobuf import proto

from headwater import formats
from headwater.errors import ConfigError
from headwater.event import Event, EventBatch, Operation, Origin
from headwater.format._generated import event_pb2
from headwater.format.files import blocks
from headwater.format.files.carrier import Broken, Carrier, Framed, Piece
from headwater.format.files.container import CONTAINED, ContainedAvro, Container
from headwater.format.files.lines import Lines
from headwater.format.files.prefixed import Prefix, Prefixed
from headwater.format.headwater.avro_schema import EVENT, EVENT_12
from tests.unit.format.samples import READ, UPDATE, batch

LIMIT = 1 << 20
Make = Callable[[], Carrier]
CARRIERS: dict[str, Make] = {
    "lines": lambda: Lines(formats.get("headwater-json")),
    "delimited": lambda: Prefixed(formats.get("headwater-protobuf")),
    "length": lambda: Prefixed(formats.get("headwater-avro"), Prefix.UINT32),
    "container": Container,
}


def event(number: int, text: str = "") -> Event:
    origin = Origin("pg", f"0/{number:08X}", 1000)
    after = {"id": number, "text": text}
    return Event(Operation.INSERT, origin, 2000, "items", primary_key=("id",), after=after)


def written(carrier: Carrier, *groups: EventBatch) -> bytes:
    stream = BytesIO()
    writing = carrier.write(stream)
    for group in groups:
        writing.put(writing.format.encode(group))
    return stream.getvalue()


def pieces(carrier: Carrier, data: bytes, limit: int = LIMIT) -> list[Piece]:
    return list(carrier.read(BytesIO(data), limit).pieces)


def events(carrier: Carrier, data: bytes) -> list[Event]:
    reading = carrier.read(BytesIO(data), LIMIT)
    return list(reading.format.decode(piece.data for piece in sound(list(reading.pieces))))


def sound(found: list[Piece]) -> list[Framed]:
    assert not [piece for piece in found if isinstance(piece, Broken)]
    return [piece for piece in found if isinstance(piece, Framed)]


def told(found: list[Piece]) -> list[str]:
    """Each piece in a word: `ok`, or the code of what is wrong."""
    return [piece.error.code if isinstance(piece, Broken) else "ok" for piece in found]


@pytest.mark.parametrize("name", CARRIERS)
def test_carrier_gives_back_events_when_it_wrote_them(name: str) -> None:
    carrier = CARRIERS[name]()
    data = written(carrier, batch(UPDATE, READ), batch(), batch(UPDATE))
    assert events(carrier, data) == [UPDATE, READ, UPDATE]


@pytest.mark.parametrize("name", CARRIERS)
def test_carrier_gives_nothing_when_no_event_was_written(name: str) -> None:
    carrier = CARRIERS[name]()
    assert pieces(carrier, written(carrier)) == []


@pytest.mark.parametrize("name", CARRIERS)
def test_carrier_tells_a_cut_when_the_file_ends_at_any_byte(name: str) -> None:
    """No cut passes for a shorter file, except where a record ends."""
    carrier = CARRIERS[name]()
    data = written(carrier, batch(event(1)), batch(event(2)))
    start = len(written(carrier))
    for end in range(start, len(data)):
        found = pieces(carrier, data[:end])
        whole = [piece for piece in found if isinstance(piece, Framed)]
        if name == "lines":
            assert len(found) == data[:end].count(b"\n") + (not data[:end].endswith(b"\n")) * (
                end > 0
            )
        elif told(found)[-1:] in ([], ["ok"]):
            again = written(carrier, *(batch(event(n + 1)) for n in range(len(whole))))
            assert len(again) == end, "a cut that nobody noticed"
        else:
            assert told(found)[-1] == "record-truncated"


@pytest.mark.parametrize("name", CARRIERS)
def test_carrier_sets_a_record_aside_and_goes_on_when_it_is_too_long(name: str) -> None:
    carrier = CARRIERS[name]()
    data = written(carrier, batch(event(1), event(2, "x" * 5000), event(3)))
    found = pieces(carrier, data, limit=1000)
    assert told(found) == ["ok", "record-too-long", "ok"]
    assert [piece.number for piece in found] == [1, 2, 3]


@pytest.mark.parametrize("name", CARRIERS)
def test_carrier_takes_a_record_when_it_is_exactly_as_long_as_allowed(name: str) -> None:
    carrier = CARRIERS[name]()
    data = written(carrier, batch(event(1)), batch(event(2)))
    (size,) = {len(piece.data) for piece in sound(pieces(carrier, data))}
    assert told(pieces(carrier, data, limit=size)) == ["ok", "ok"]
    assert told(pieces(carrier, data, limit=size - 1)) == ["record-too-long"] * 2


def test_lines_are_counted_as_an_editor_counts_them_when_some_are_empty() -> None:
    found = pieces(CARRIERS["lines"](), b"{}\r\n\n  \n[1]\n{")
    assert [(piece.number, piece.offset, piece.data) for piece in found] == [
        (1, 0, b"{}"), (4, 8, b"[1]"), (5, 12, b"{"),
    ]  # fmt: skip


def test_delimited_file_is_read_by_protobuf_itself_when_we_wrote_it() -> None:
    stream = BytesIO(written(CARRIERS["delimited"](), batch(UPDATE, READ)))
    read: Any = proto.parse_length_prefixed
    tables = [read(event_pb2.Event, stream).table for _ in range(2)]
    assert tables == ["users", "t"]
    assert read(event_pb2.Event, stream) is None


def test_delimited_file_ends_where_a_length_is_none_when_it_is_damaged() -> None:
    carrier = CARRIERS["delimited"]()
    data = written(carrier, batch(event(1))) + b"\xff" * 40
    assert told(pieces(carrier, data)) == ["ok", "record-length"]


def test_container_is_read_by_fastavro_when_we_wrote_it() -> None:
    data = written(Container(), batch(UPDATE), batch(READ))
    assert [datum["table"] for datum in fastavro.reader(BytesIO(data))] == ["users", "t"]
    asked = fastavro.reader(BytesIO(data), reader_schema=EVENT)
    assert [sorted(datum) for datum in asked] == [sorted(f["name"] for f in EVENT["fields"])] * 2


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize("schema", [EVENT, EVENT_12, CONTAINED], ids=["14", "12", "contained"])
def test_container_is_read_when_fastavro_wrote_it(schema: dict[str, Any], codec: str) -> None:
    data = list(fastavro.reader(BytesIO(written(Container(), batch(event(1), event(2))))))
    stream = BytesIO()
    fastavro.writer(stream, schema, data, codec=codec, sync_interval=1)
    assert events(Container(), stream.getvalue()) == [event(1), event(2)]


def test_container_keeps_what_other_formats_said_when_read_again() -> None:
    record = b'{"position":"YQ==","operation":"create","metadata":{"mine":"1"},"key":null,'
    record += b'"payload":{"before":null,"after":{"id":1}}}'
    said = formats.decode([record], "opencdc")
    carrier = Container()
    assert said.column("extra").null_count == 0
    (again,) = events(carrier, written(carrier, said))
    assert again == next(iter(said))
    form = ContainedAvro()
    assert list(form.decode(form.encode(said))) == [again]


def _ends(data: bytes) -> list[int]:
    """Where the header and each block end, by the file's own marker."""
    marker = data[-16:]
    ends, at = [], data.find(marker)
    while at >= 0:
        ends.append(at + 16)
        at = data.find(marker, at + 16)
    return ends


def _damaged(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]


def test_container_reads_the_blocks_around_it_when_any_byte_of_a_block_is_damaged() -> None:
    """Of a damaged marker nobody can tell that it was one, so the block behind it goes too."""
    groups = [batch(event(number)) for number in range(1, 5)]
    data = written(Container(), *groups)
    ends = _ends(data)
    for first, last in pairwise(ends[1:3]):
        for at in range(first, last):
            found = pieces(Container(), _damaged(data, at))
            good = [piece for piece in found if isinstance(piece, Framed)]
            assert len(good) >= 3 - (at >= last - 16), f"byte {at - first} of the block"
            assert told(found)[0] == "ok"


def test_container_says_which_block_is_broken_when_its_packing_is_damaged() -> None:
    data = written(Container(), *(batch(event(number)) for number in range(1, 4)))
    first, last = _ends(data)[1:3]
    found = pieces(Container(), _damaged(data, (first + last) // 2))
    assert told(found) == ["ok", "avro-block", "ok"]
    broken = found[1]
    assert isinstance(broken, Broken)
    assert "block 2" in broken.error.message
    assert broken.offset == first


def test_container_refuses_a_block_when_it_unpacks_to_too_much() -> None:
    header = blocks.Header(CONTAINED)
    data = header.encode() + header.block(1, bytes(blocks.MAX_BLOCK_BYTES + 1))
    assert told(pieces(Container(), data)) == ["avro-block"]


@pytest.mark.parametrize(
    "data",
    [b"", b"Obj", b"PK\x03\x04", b"Obj\x01", b"Obj\x01\x02\x02a\x02b\x00" + bytes(16)],
    ids=["empty", "cut", "zip", "bare", "no-schema"],
)
def test_container_is_refused_when_it_is_none(data: bytes) -> None:
    with pytest.raises(ConfigError) as caught:
        Container().read(BytesIO(data), LIMIT)
    assert caught.value.code == "avro-file"


def test_container_is_refused_when_its_codec_or_schema_is_another() -> None:
    for header, code in (
        (blocks.Header(CONTAINED, codec="zip"), "avro-codec"),
        (blocks.Header("string"), "avro-schema"),
    ):
        with pytest.raises(ConfigError) as caught:
            Container().read(BytesIO(header.encode()), LIMIT)
        assert caught.value.code == code
