"""headwater-protobuf: bytes against the published numbers, and damaged messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headwater.errors import DataError
from headwater.event import Event, EventBatch, Origin, Transaction
from headwater.format.headwater.protobuf import ProtobufFormat
from tests.unit.format import seed
from tests.unit.format.samples import READ, UPDATE, batch

SEED_EVENT = seed.protobuf_event()


def field(number: int, data: bytes) -> bytes:
    assert len(data) < 128, "one length byte"
    return bytes([number << 3 | 2, len(data)]) + data


BEFORE = '{"id":1,"org":"ä"}'.encode()
AFTER = '{"org":"ä","id":1,"n":null}'.encode()
# Tag, then a varint or a length and bytes; zero and false are left out.
UPDATE_MESSAGE = b"".join(
    [
        field(1, BEFORE),
        field(2, AFTER),
        b"\x18\x02",  # UPDATE
        field(4, field(1, b"pg") + field(2, b"0/16B6A70") + b"\x18\xe8\x07"),  # 1000
        b"\x28\xd0\x0f",  # 2000
        field(6, b"public"),
        field(7, b"users"),
        field(8, b"id") + field(8, b"org"),
        field(10, b"\x08\x07\x10\x02\x18\x01"),  # transaction 7, 2 events, index 1
        b"\x58\x01",  # version 1
        b"\x60\x01",  # key only
        field(13, b"bio"),
    ]
)


def test_encode_writes_the_known_bytes_when_given_the_sample() -> None:
    assert ProtobufFormat().encode(batch(UPDATE)) == [UPDATE_MESSAGE]


def test_encode_is_read_by_the_published_message_when_every_block_is_there() -> None:
    message = SEED_EVENT.FromString(ProtobufFormat().encode(batch(READ))[0])
    assert message.op == 4
    assert not message.HasField("before")
    assert message.after == b"{}"
    assert not message.HasField("schema")
    assert message.snapshot.chunk_index == 5
    assert message.transaction.tx_id == 2**63 - 1
    assert message.transaction.total_events == 0
    assert list(message.before_unavailable_columns) == ["x", "y"]
    assert message.SerializeToString() == ProtobufFormat().encode(batch(READ))[0]


def test_decode_returns_the_samples_when_encoded() -> None:
    form = ProtobufFormat()
    decoded = form.decode(form.encode(batch(UPDATE, READ)))
    assert decoded.records.equals(batch(UPDATE, READ).records)


def test_decode_keeps_an_empty_schema_apart_from_none() -> None:
    form = ProtobufFormat()
    events = batch(replace(UPDATE, schema=""), replace(UPDATE, schema=None))
    assert form.decode(form.encode(events)).column("table_schema").to_pylist() == ["", None]


def test_decode_skips_fields_that_it_does_not_know() -> None:
    decoded = ProtobufFormat().decode([UPDATE_MESSAGE + field(15, b"later")])
    assert decoded.records.equals(batch(UPDATE).records)


def test_encode_sorts_row_names_when_asked() -> None:
    (event,) = ProtobufFormat().decode(ProtobufFormat(sort_row_keys=True).encode(batch(UPDATE)))
    assert list(event.after or {}) == ["id", "n", "org"]


@pytest.mark.parametrize(
    "event",
    [
        replace(UPDATE, ts_ms=-1),
        replace(UPDATE, source=Origin("pg", "1", -1)),
        replace(UPDATE, transaction=Transaction(-1, None, 0)),
        replace(UPDATE, transaction=Transaction(1, 2**32, 0)),
        replace(UPDATE, transaction=Transaction(1, None, 2**32)),
    ],
)
def test_encode_refuses_the_event_when_a_number_is_out_of_range(event: Event) -> None:
    with pytest.raises(DataError, match="outside") as caught:
        ProtobufFormat().encode(batch(UPDATE, event))
    assert caught.value.code == "format-unwritable"
    assert caught.value.where == "record 1"


def seed_message(**changes: Any) -> bytes:
    message = SEED_EVENT.FromString(UPDATE_MESSAGE)
    for name, value in changes.items():
        setattr(message, name, value)
    return bytes(message.SerializeToString())


def overflowing(block: str, part: str) -> bytes:
    message = SEED_EVENT.FromString(UPDATE_MESSAGE)
    setattr(getattr(message, block), part, 2**63)
    return bytes(message.SerializeToString())


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"", "envelope_version is 0"),
        (b"\xff", "not a message"),
        (UPDATE_MESSAGE[:20], "not a message"),
        (UPDATE_MESSAGE + b"\x0a", "not a message"),
        (UPDATE_MESSAGE.replace(b"users", b"us\xffrs"), "not a message"),
        (seed_message(op=0), "none of the operations"),
        (seed_message(op=8), "none of the operations"),
        (seed_message(envelope_version=2), "envelope_version is 2"),
        (seed_message(before=b""), "not a message"),
        (seed_message(before=b"null"), "image is not a JSON object"),
        (seed_message(after=b"\xff"), "not a message"),
        (seed_message(ts=2**63), "ts cannot be held"),
        (overflowing("source", "timestamp"), "timestamp cannot be held"),
        (overflowing("transaction", "tx_id"), "tx_id cannot be held"),
    ],
)
def test_decode_names_record_and_reason_when_a_record_is_bad(record: bytes, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        ProtobufFormat().decode([UPDATE_MESSAGE, record, UPDATE_MESSAGE])
    assert caught.value.code == "format-bad-record"
    assert caught.value.where == "record 1"
    assert reason in caught.value.message


def test_decode_of_nothing_is_an_empty_batch() -> None:
    assert ProtobufFormat().decode([]).equals(EventBatch.concat([]))
