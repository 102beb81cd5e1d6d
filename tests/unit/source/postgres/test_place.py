"""The position spelled out reads back equal, and foreign tokens are refused."""

import pytest

from headwater.errors import DataError
from headwater.event import Position
from headwater.source.postgres.place import PendingTable, Place, SnapshotPlace

PLACE = Place(
    system="7",
    timeline=2,
    slot="shop",
    lsn=5_000_000_000,
    snapshot=SnapshotPlace(
        "a1",
        (PendingTable(16_401, 7, 900, 1_000, seen="12:13:"), PendingTable(16_402)),
        chunk_index=3,
    ),
)


@pytest.mark.parametrize("place", [PLACE, Place("7", 1, "s", decided=True, accept=True)])
def test_place_reads_back_equal(place: Place) -> None:
    assert Place.decode(Position.decode(place.encode().encode())) == place


@pytest.mark.parametrize("token", [{}, {"change_id": 1}, {"lsn": 1, "snapshot": {"pending": [3]}}])
def test_token_of_another_source_is_refused(token: dict[str, object]) -> None:
    with pytest.raises(DataError) as caught:
        Place.decode(Position(token))  # type: ignore[arg-type]
    assert caught.value.code == "position-invalid"


def test_marks_of_shapes_read_back_and_replace_those_before() -> None:
    marked = PLACE.marking({16_401: "0a1b2c3d", 7: "ffffffff"})
    again = Place.decode(Position.decode(marked.encode().encode()))
    assert again.marks() == {7: "ffffffff", 16_401: "0a1b2c3d"}
    assert again.marking({}) == PLACE


def test_snapshot_ends_when_its_last_table_is_done() -> None:
    snapshot = PLACE.snapshot
    assert snapshot is not None
    second = snapshot.with_first(None)
    assert second is not None
    assert second.first.oid == 16_402
    assert second.with_first(None) is None


def test_tables_owed_later_come_after_those_owed_already() -> None:
    owing = PLACE.owing([PendingTable(1)])
    assert owing.snapshot is not None
    assert [table.oid for table in owing.snapshot.pending] == [16_401, 16_402, 1]
    fresh = Place("7", 1, "s").owing([PendingTable(1)])
    assert fresh.snapshot is not None
    assert fresh.snapshot.chunk_index == 0
