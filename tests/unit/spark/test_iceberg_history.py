"""How far an Iceberg table has come, by its metadata alone: nobody else's commit may hide it."""

from __future__ import annotations

import json

import pytest

from headwater.spark.table.iceberg.history import LOG, SEQUENCE, SNAPSHOT, History

OURS = "log-1"
Told = dict[int, tuple[int | None, int | None]]


def history(
    snapshots: Told, current: int | None, noted: dict[str, int], log: str = OURS
) -> History:
    """Snapshots by id: parent, and the position that its summary carries."""
    listed = [
        {
            "snapshot-id": each,
            **({} if parent is None else {"parent-snapshot-id": parent}),
            "summary": {} if position is None else {LOG: log, SEQUENCE: str(position)},
        }
        for each, (parent, position) in snapshots.items()
    ]
    properties = {f"headwater.{name}": str(value) for name, value in noted.items()}
    return History.parse(
        json.dumps(
            {
                "snapshots": listed,
                "properties": properties | {LOG: log},
                **({} if current is None else {"current-snapshot-id": current}),
            }
        )
    )


@pytest.mark.parametrize(
    ("snapshots", "current", "noted", "applied"),
    [
        pytest.param({}, None, {}, 0, id="no snapshot"),
        pytest.param({}, -1, {}, 0, id="no snapshot, said the old way"),
        pytest.param({1: (None, 10), 2: (1, 20)}, 2, {}, 20, id="ours on top"),
        pytest.param({1: (None, 10), 2: (1, None), 3: (2, None)}, 3, {}, 10, id="others on top"),
        pytest.param({1: (None, 20), 2: (1, 15)}, 2, {}, 20, id="an older one came later"),
        pytest.param(
            {1: (None, 10), 2: (1, 20)}, 1, {"sequence": 20, "snapshot": 2}, 10, id="back"
        ),
        pytest.param({3: (2, None)}, 3, {"sequence": 20, "snapshot": 2}, 20, id="ours expired"),
        pytest.param(
            {1: (None, None), 2: (1, 20)},
            1,
            {"sequence": 20, "snapshot": 2},
            0,
            id="back to before ours",
        ),
    ],
)
def test_position_is_that_of_the_rows_when_others_commit_expire_or_go_back(
    snapshots: Told, current: int | None, noted: dict[str, int], applied: int
) -> None:
    assert history(snapshots, current, noted).applied(OURS) == applied


def test_position_of_another_log_is_not_ours() -> None:
    theirs = history({1: (None, 10)}, 1, {"sequence": 10, "snapshot": 9}, log="log-2")
    assert theirs.applied(OURS) == 0
    assert theirs.applied("log-2") == 10
    assert SNAPSHOT in theirs.properties


REPLACE, APPEND = "replace", "append"


@pytest.mark.parametrize(
    ("snapshots", "position", "rested"),
    [
        pytest.param([(1, None, APPEND)], 10, 1, id="the newest"),
        pytest.param([(1, None, APPEND), (2, 1, REPLACE), (3, 2, REPLACE)], 10, 3, id="files"),
        pytest.param(
            [(1, None, APPEND), (2, 1, REPLACE), (3, 2, APPEND)], 20, 2, id="until rows change"
        ),
        pytest.param([(2, 1, REPLACE)], 10, 2, id="its own has expired"),
        pytest.param([(3, 2, REPLACE)], 10, 3, id="forgotten, at its position"),
        pytest.param([(3, 2, REPLACE)], 20, 1, id="forgotten, gone on"),
        pytest.param([(3, 2, APPEND)], 10, 1, id="forgotten, changed by others"),
        pytest.param([(2, None, APPEND), (3, 2, REPLACE)], 10, 1, id="another past"),
    ],
)
def test_snapshot_rests_until_one_changes_rows(
    snapshots: list[tuple[int, int | None, str]], position: int, rested: int
) -> None:
    listed = [
        {
            "snapshot-id": each,
            "summary": {"operation": operation},
            **({} if parent is None else {"parent-snapshot-id": parent}),
        }
        for each, parent, operation in snapshots
    ]
    noted = {LOG: OURS, SEQUENCE: str(position), SNAPSHOT: "99"}
    told = {"snapshots": listed, "properties": noted, "current-snapshot-id": snapshots[-1][0]}
    assert History.parse(json.dumps(told)).rested(1, OURS, 10) == rested


def test_snapshot_rests_only_as_long_as_its_columns() -> None:
    listed = [
        {"snapshot-id": 1, "schema-id": 0, "summary": {"operation": APPEND}},
        {
            "snapshot-id": 2,
            "schema-id": 1,
            "parent-snapshot-id": 1,
            "summary": {"operation": REPLACE},
        },
    ]
    told = {"snapshots": listed, "current-snapshot-id": 2, "current-schema-id": 1}
    assert History.parse(json.dumps(told)).rested(1, OURS, 10) == 1
