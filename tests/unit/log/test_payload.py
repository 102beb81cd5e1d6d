"""Stored bytes: they read back equal, and every kind of damage is seen."""

import pytest

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
