"""Stored bytes: they read back equal, and every kind of damage is seen."""

import struct

import pyarrow as pa
import pytest

from headwater.event import EVENT_SCHEMA, EventBatch
from headwater.log import payload
from headwater.testing.builders import inserts


def test_payload_reads_back_equal() -> None:
    batch = inserts(1, 100, tx_id=4).with_sequence(1)
    assert payload.decode(bytes(payload.encode(batch)), closes_transaction=True).equals(batch)


def test_payload_does_not_repeat_the_schema() -> None:
    assert b"sequence_number" not in bytes(payload.encode(inserts(1, 1)))


@pytest.mark.parametrize("cut", [0, 1, 8, 100, -1])
def test_payload_refuses_truncated_bytes(cut: int) -> None:
    data = bytes(payload.encode(inserts(1, 100)))
    with pytest.raises(ValueError, match="record batch"):
        payload.decode(data[:cut], closes_transaction=True)


def test_checksum_differs_when_place_border_or_bytes_differ() -> None:
    sums = {
        payload.checksum(1, 2, b"abc", closes_transaction=True),
        payload.checksum(2, 3, b"abc", closes_transaction=True),
        payload.checksum(1, 2, b"abd", closes_transaction=True),
        payload.checksum(1, 2, b"abc", closes_transaction=False),
    }
    assert len(sums) == 4


def test_payload_keeps_what_other_formats_said_when_an_event_has_it() -> None:
    batch = inserts(1, 3)
    extra = pa.array([None, '{"opencdc":{}}', None], pa.string())
    place = EVENT_SCHEMA.get_field_index("extra")
    marked = EventBatch(batch.records.set_column(place, EVENT_SCHEMA.field(place), extra))
    assert payload.decode(payload.encode(marked), closes_transaction=True).equals(marked)


def test_payload_reads_with_a_null_column_when_it_is_older_than_extra() -> None:
    """Bytes as logs were written before events had that column: nineteen columns, no bit."""
    batch = inserts(1, 3)
    message = batch.records.remove_column(EVENT_SCHEMA.get_field_index("extra")).serialize()
    old = struct.pack("<Q", message.size) + bytes(
        pa.Codec("zstd", compression_level=1).compress(message)
    )
    assert payload.decode(old, closes_transaction=True).equals(batch)
    assert bytes(payload.encode(batch)) == old
