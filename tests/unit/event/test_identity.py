"""Ids and fingerprints: the same on every replay (INV-8)."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from uuid import NAMESPACE_DNS, UUID, uuid5

import pytest

from headwater.errors import DataError
from headwater.event import (
    Event,
    Operation,
    Origin,
    Snapshot,
    Transaction,
    event_ids,
    fingerprint,
    uuid_strings,
)

EVENT = Event(
    Operation.UPDATE,
    Origin("pg", "0/1", 5),
    9,
    "users",
    primary_key=("id",),
    before=None,
    after={"id": 1, "b": "ä"},
    transaction=Transaction(7, None, 2),
)


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(8, "little") + data


def test_event_id_is_the_uuid5_of_source_and_offset() -> None:
    namespace = uuid5(uuid5(NAMESPACE_DNS, "headwater"), "shop")
    offsets = ["a", "", "ä𝄞"]
    ids = event_ids("shop", offsets)
    assert [UUID(bytes=raw) for raw in ids.to_pylist()] == [uuid5(namespace, o) for o in offsets]


def test_event_ids_are_an_empty_column_when_there_are_no_offsets() -> None:
    assert len(event_ids("shop", [])) == 0
    assert uuid_strings(event_ids("shop", [])).to_pylist() == []


def test_uuid_strings_are_the_ids_when_column_is_a_slice() -> None:
    ids = event_ids("shop", ["a", "b", "c"])
    expected = [str(UUID(bytes=raw)) for raw in ids.to_pylist()]
    assert uuid_strings(ids).to_pylist() == expected
    assert uuid_strings(ids.slice(1, 2)).to_pylist() == expected[1:]


def test_fingerprint_has_the_envelopes_layout() -> None:
    layout = b"".join(
        [
            b"rustcdc/v1/fingerprint\0",
            sized(b"pg"), sized(b"0/1"), sized(b"users"), sized(b"update"),
            (1).to_bytes(8, "little"), sized(b"id"),
            b"\1", (7).to_bytes(8, "little"), (2).to_bytes(4, "little"), (0).to_bytes(4, "little"),
            b"\0",
            b"\1", sized('{"b":"ä","id":1}'.encode()),
        ]
    )  # fmt: skip
    assert fingerprint(EVENT) == hashlib.sha256(layout).hexdigest()


def test_fingerprint_has_the_envelopes_layout_when_optional_parts_are_absent() -> None:
    event = replace(EVENT, primary_key=None, transaction=None)
    layout = b"".join(
        [
            b"rustcdc/v1/fingerprint\0",
            sized(b"pg"), sized(b"0/1"), sized(b"users"), sized(b"update"),
            bytes(8), b"\0", b"\0", b"\1", sized('{"b":"ä","id":1}'.encode()),
        ]
    )  # fmt: skip
    assert fingerprint(event) == hashlib.sha256(layout).hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"ts_ms": 1}, {"schema": "x"}, {"snapshot": Snapshot("s", 1, is_last_chunk=True)},
        {"unavailable_columns": ("z",)}, {"before_is_key_only": True}, {"sequence_number": 5},
        {"after": {"b": "ä", "id": 1}},
    ],
)  # fmt: skip
def test_fingerprint_stays_when_only_the_reading_differs(change: dict[str, object]) -> None:
    assert fingerprint(replace(EVENT, **change)) == fingerprint(EVENT)  # type: ignore[arg-type]


@pytest.mark.parametrize("origin", [Origin("", "0/1", 0), Origin("pg", "", 0)])
def test_fingerprint_is_refused_when_the_place_is_not_known(origin: Origin) -> None:
    with pytest.raises(DataError):
        fingerprint(replace(EVENT, source=origin))
