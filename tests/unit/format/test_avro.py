"""headwater-avro: bytes against the published schema, old data, and damaged data."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from typing import Any

import fastavro
import pytest

from headwater.errors import ConfigError, DataError
from headwater.event import EventBatch, Transaction
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.avro_schema import EVENT, EVENT_12
from tests.unit.format import seed
from tests.unit.format.samples import READ, UPDATE, batch


def text(value: str) -> bytes:
    data = value.encode()
    assert len(data) < 64, "one length byte"
    return bytes([2 * len(data)]) + data


BEFORE = '{"id":1,"org":"ä"}'
AFTER = '{"org":"ä","id":1,"n":null}'
# Union branch, then length and bytes; enum index; zigzag numbers; arrays as count, items and 0:
# written down by hand from the Avro specification.
TWELVE = b"".join(
    [
        b"\x02" + text(BEFORE),
        b"\x02" + text(AFTER),
        b"\x02",  # UPDATE
        text("pg") + text("0/16B6A70") + b"\xd0\x0f",  # 1000
        b"\xa0\x1f",  # 2000
        b"\x02" + text("public"),
        text("users"),
        b"\x04" + text("id") + text("org") + b"\x00",
        b"\x00",  # no snapshot
        b"\x02\x0e\x04\x02",  # transaction 7, 2 events, index 1
        b"\x02",  # version 1
        b"\x01",  # key only
    ]
)
FOURTEEN = TWELVE + b"\x02" + text("bio") + b"\x00" + b"\x00"


def seed_bytes(datum: dict[str, Any]) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(seed.AVRO), datum)
    return out.getvalue()


def seed_datum() -> dict[str, Any]:
    datum: dict[str, Any] = fastavro.schemaless_reader(
        BytesIO(TWELVE), fastavro.parse_schema(seed.AVRO), None
    )
    return datum


def test_encode_writes_the_known_bytes_when_given_the_sample() -> None:
    assert AvroFormat().encode(batch(UPDATE)) == [FOURTEEN]


def test_encode_writes_the_seeds_bytes_when_told_its_schema() -> None:
    event = replace(UPDATE, unavailable_columns=())
    assert AvroFormat(writer_schema=EVENT_12).encode(batch(event)) == [TWELVE]
    assert seed_bytes(seed_datum()) == TWELVE


def test_schema_equals_the_published_one_when_docs_are_left_out() -> None:
    ours = json.loads(json.dumps(EVENT_12).replace(', "doc": "0: not known"', ""))
    ours = json.loads(json.dumps(ours).replace(', "doc": "ms since the epoch"', ""))
    assert ours == seed.AVRO
    assert EVENT["fields"][:12] == EVENT_12["fields"]
    assert [field["default"] for field in EVENT["fields"][12:]] == [[], []]


def test_decode_reads_seed_data_when_told_its_schema() -> None:
    event = replace(UPDATE, unavailable_columns=())
    for schema in (EVENT_12, seed.AVRO):
        decoded = AvroFormat(writer_schema=schema).decode([TWELVE])
        assert decoded.records.equals(batch(event).records)


def test_decode_refuses_seed_data_when_not_told_its_schema() -> None:
    with pytest.raises(DataError, match="not a datum"):
        AvroFormat().decode([TWELVE])


def test_decode_returns_the_samples_when_encoded() -> None:
    form = AvroFormat()
    decoded = form.decode(form.encode(batch(UPDATE, READ)))
    assert decoded.records.equals(batch(UPDATE, READ).records)


def test_encode_refuses_unavailable_columns_when_the_schema_would_lose_them() -> None:
    plain = replace(UPDATE, unavailable_columns=())
    with pytest.raises(DataError, match="no field unavailable_columns") as caught:
        AvroFormat(writer_schema=EVENT_12).encode(batch(plain, UPDATE))
    assert caught.value.code == "format-unwritable"
    assert caught.value.where == "record 1"


@pytest.mark.parametrize("part", ["total_events", "event_index"])
def test_encode_refuses_the_event_when_a_number_is_beyond_an_avro_int(part: str) -> None:
    numbers = {"tx_id": 1, "total_events": 2**31, "event_index": 0, part: 2**31}
    events = batch(UPDATE, replace(UPDATE, transaction=Transaction(**numbers)))
    with pytest.raises(DataError, match=r"transaction\.\w+ is 2147483648") as caught:
        AvroFormat().encode(events)
    assert caught.value.where == "record 1"


def test_encode_sorts_row_names_when_asked() -> None:
    (event,) = AvroFormat().decode(AvroFormat(sort_row_keys=True).encode(batch(UPDATE)))
    assert list(event.after or {}) == ["id", "n", "org"]


@pytest.mark.parametrize(
    "schema", [{"type": "string"}, {"type": "nonsense"}, {}, EVENT["fields"][3]["type"]]
)
def test_format_refuses_the_schema_when_it_is_not_the_envelopes(schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigError) as caught:
        AvroFormat(writer_schema=schema)
    assert caught.value.code == "avro-schema"


@pytest.mark.parametrize("length", range(len(FOURTEEN)))
def test_decode_refuses_the_datum_when_it_is_cut_anywhere(length: int) -> None:
    with pytest.raises(DataError) as caught:
        AvroFormat().decode([FOURTEEN, FOURTEEN[:length]])
    assert caught.value.code == "format-bad-record"
    assert caught.value.where == "record 1"


def test_decode_refuses_the_datum_when_bytes_follow_it() -> None:
    with pytest.raises(DataError, match="3 bytes follow the datum"):
        AvroFormat().decode([FOURTEEN + b"abc"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"envelope_version": 2}, "envelope_version is 2"),
        ({"before": b"[]"}, "image is not a JSON object"),
        ({"before": b"\xff"}, "not a datum"),
        ({"after": b'{"a":Infinity}'}, "Infinity is not JSON"),
        ({"after": b'{"a":1} x'}, "characters follow"),
    ],
)
def test_decode_names_the_reason_when_a_field_is_bad(change: dict[str, Any], reason: str) -> None:
    record = seed_bytes(seed_datum() | change)
    with pytest.raises(DataError, match=reason) as caught:
        AvroFormat(writer_schema=EVENT_12).decode([TWELVE, record])
    assert caught.value.where == "record 1"


def test_decode_refuses_the_datum_when_an_int_holds_a_long() -> None:
    beyond = TWELVE.replace(b"\x02\x0e\x04\x02", b"\x02\x0e\x04\x80\x80\x80\x80\x10")
    with pytest.raises(DataError, match="event_index is 2147483648") as caught:
        AvroFormat(writer_schema=EVENT_12).decode([TWELVE, beyond])
    assert caught.value.code == "format-bad-record"
    assert caught.value.where == "record 1"


def test_decode_refuses_the_datum_when_the_op_has_no_symbol() -> None:
    at = len(b"\x02" + text(BEFORE) + b"\x02" + text(AFTER))
    with pytest.raises(DataError):
        AvroFormat().decode([FOURTEEN[:at] + b"\x0c" + FOURTEEN[at + 1 :]])


def test_decode_reads_no_key_when_the_list_is_empty() -> None:
    decoded = AvroFormat(writer_schema=EVENT_12).decode(
        [seed_bytes(seed_datum() | {"primary_key": []})]
    )
    assert decoded.column("primary_key").to_pylist() == [None]
    assert isinstance(decoded, EventBatch)
