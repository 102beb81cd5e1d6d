"""Whether only files came between two versions of a table, by the commits of Delta's log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from headwater.spark.state.rested import Commit, last_rested


def _commit(operation: str, *actions: dict[str, Any]) -> Commit:
    told = [{"commitInfo": {"operation": operation}}, *actions]
    return [json.dumps(each).encode() for each in told]


def _files(*, changed: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"add": {"dataChange": changed}}, {"remove": {"dataChange": changed}}


OPTIMIZE = _commit("OPTIMIZE", *_files(changed=False))
VACUUM = _commit("VACUUM END")
PROPERTIES = _commit("SET TBLPROPERTIES", {"metaData": {}})
MARK = _commit("WRITE", {"txn": {"appId": "headwater.expired", "version": 1}})
MERGE = _commit("MERGE", *_files(changed=True))
COLUMN = _commit("ADD COLUMNS", {"metaData": {}})
FEED = _commit("DELETE", {"cdc": {"dataChange": False}})
GONE_ON = _commit("WRITE", {"txn": {"appId": "headwater:log", "version": 9}})


@pytest.mark.parametrize(
    ("later", "in_place", "rested"),
    [
        pytest.param([], True, 4, id="the newest"),
        pytest.param([(5, OPTIMIZE), (6, VACUUM), (7, PROPERTIES), (8, MARK)], True, 8, id="files"),
        pytest.param([(5, OPTIMIZE), (6, MERGE), (7, OPTIMIZE)], False, 5, id="until rows change"),
        pytest.param([(5, MERGE)], False, 4, id="changed at once"),
        pytest.param([(5, COLUMN)], True, 4, id="another column"),
        pytest.param([(5, FEED)], True, 4, id="told as changes only"),
        pytest.param([(5, VACUUM), (6, GONE_ON)], False, 5, id="another position, no row"),
        # Whether the position is the same is asked only of what the log has forgotten.
        pytest.param([(5, OPTIMIZE)], False, 5, id="in sight"),
        pytest.param([(9, VACUUM), (10, VACUUM)], True, 10, id="forgotten, at its position"),
        pytest.param([(9, VACUUM), (10, VACUUM)], False, 4, id="forgotten, gone on"),
        pytest.param([(9, VACUUM), (10, MERGE)], True, 4, id="forgotten, changed by others"),
    ],
)
def test_version_rests_until_a_commit_changes_rows(
    later: Sequence[tuple[int, Commit]], *, in_place: bool, rested: int
) -> None:
    assert last_rested(4, later, "headwater:log", in_place=in_place) == rested
