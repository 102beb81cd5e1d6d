"""What a commit cost, by actions as Delta 4.4 has recorded them, shortened to what is read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.spark.table.delta_cost import cost_of


def _file(path: str, size: int, rows: int | None, **more: Any) -> dict[str, Any]:
    stats = {} if rows is None else {"stats": json.dumps({"numRecords": rows})}
    return {"path": path, "size": size, "dataChange": True, "partitionValues": {}, **stats, **more}


def _vector(size: int, rows: int) -> dict[str, Any]:
    named = {"storageType": "u", "pathOrInlineDv": "jK!7dQuB>yThN>zra3GQ", "offset": 1}
    return {"deletionVector": {**named, "sizeInBytes": size, "cardinality": rows}}


def _cost(*actions: dict[str, Any], **metrics: str) -> float | None:
    info = {"commitInfo": {"operation": "WRITE", "operationMetrics": metrics}}
    txn = {"txn": {"appId": "headwater:811ef9e6", "version": 316}}
    found = cost_of(json.dumps(each) for each in (info, *actions, txn))
    return None if found is None else found.amplification


_OLD = _file("part-eb66", 2073, 7)
_BIG = _file("part-big", 128_000_000, 1_000_000)


def test_rows_that_are_only_added_cost_themselves() -> None:
    assert _cost({"add": _file("part-4972", 2995, 140)}, {"add": _file("p", 3329, 161)}) == 1.0


def test_marks_count_beside_rows_added() -> None:
    marked = {"remove": _OLD}, {"add": _OLD | _vector(34, 1)}
    added = {"add": _file("part-4972", 2995, 140)}, {"add": _file("part-b9bb", 3329, 161)}
    assert _cost(*marked, *added, numOutputRows="301") == pytest.approx((6324 + 34) / 6324)


def test_one_row_costs_its_file_when_rows_are_copied() -> None:
    copied = {"add": _file("part-af3e", 2449, 72)}, {"add": _file("part-c98e", 2582, 88)}
    metrics = {"numTargetRowsCopied": "159", "numTargetRowsUpdated": "1"}
    merge = metrics | {"numTargetRowsInserted": "0", "numTargetRowsDeleted": "0"}
    removed = {"remove": _file("part-33c3", 3155, 160)}
    assert _cost(removed, *copied, **merge) == pytest.approx(160)


def test_many_marks_cost_more_than_the_row_that_added_one() -> None:
    """A vector is written whole, however few of its marks are new."""
    old, new = _BIG | _vector(123_900, 61_000), _BIG | _vector(123_902, 61_001)
    added = _file("part-1", 2000, 1)
    assert _cost({"remove": old}, {"add": new}, {"add": added}) == pytest.approx(62.951)
    young = {"remove": _BIG}, {"add": _BIG | _vector(34, 1)}
    assert _cost(*young, {"add": added}) == pytest.approx(1.017)


def test_mark_is_smaller_than_a_row_that_is_only_deleted() -> None:
    marked = {"remove": _BIG}, {"add": _BIG | _vector(2034, 1000)}
    assert _cost(*marked) == pytest.approx(2034 / (1000 * 128))


def test_nothing_is_written_where_a_whole_file_goes() -> None:
    assert _cost({"remove": _OLD}) == 0.0
    assert _cost({"remove": _file("part-unknown", 2073, None)}) == 0.0


def test_rows_of_a_file_that_goes_are_changed_rows() -> None:
    """Seven went and one came: at least seven have changed."""
    assert _cost({"remove": _OLD}, {"add": _file("part-1", 2000, 1)}) == pytest.approx(1 / 7)


def test_nothing_is_told_where_no_row_has_moved_or_nobody_counts_rows() -> None:
    assert _cost() is None
    compacted = {"add": _file("part-1", 2000, 7, dataChange=False)}
    assert _cost({"remove": _OLD | {"dataChange": False}}, compacted) is None
    assert _cost({"add": _file("part-1", 2000, None)}) is None
