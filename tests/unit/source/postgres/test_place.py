"""The position spelled out reads back equal, and foreign tokens are refused."""

import pytest

from headwater.errors import DataError
from headwater.event import Position
from headwater.source.postgres.place import Known, PendingTable, Place, SnapshotPlace

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


def test_knowledge_of_tables_reads_back_and_replaces_that_before() -> None:
    tables = {7: Known("ffffffff", "abcdef"), 16_401: Known("0a1b2c3d"), 9: Known(name="123456")}
    knowing = PLACE.knowing(tables)
    again = Place.decode(Position.decode(knowing.encode().encode()))
    assert again.known() == tables
    assert again.marks() == {7: "ffffffff", 16_401: "0a1b2c3d"}
    assert again.knowing({}) == PLACE


def test_marking_a_shape_leaves_names_and_other_tables_alone() -> None:
    place = PLACE.knowing({7: Known("old", "abcdef"), 9: Known("other", "123456")})
    marked = place.marking({7: "new", 8: "first"}).known()
    assert marked == {7: Known("new", "abcdef"), 8: Known("first"), 9: Known("other", "123456")}


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
