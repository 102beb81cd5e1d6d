"""What a commit to a Delta table cost, by its own actions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from headwater.spark.table.upkeep import WriteCost

_Actions = Mapping[str, dict[str, Any]]
_CHANGED = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


def cost_of(commit: Iterable[str]) -> WriteCost | None:
    """The price of a commit, from its lines; None if no row moved, or none says how many.

    A file that is removed and added again has only got new marks. How many rows changed is told by
    a MERGE. Else it is the least that it can be: a row marked and one added are one changed row.
    """
    actions = [json.loads(line) for line in commit]
    added, removed = _files(actions, "add"), _files(actions, "remove")
    if not added and not removed:
        return None
    written = {path: file for path, file in added.items() if path not in removed}
    marked = {path: file for path, file in added.items() if path in removed}
    data, marks = _bytes(written), sum(_vector(each)["sizeInBytes"] for each in marked.values())
    rows, standing = _rows(written), _rows(marked)
    if rows is None or standing is None:
        return None
    gone = sum(_gone(each, marked.get(path)) for path, each in removed.items())
    told = _told(actions)
    row_bytes = data / rows if rows else _bytes(marked) / max(standing, 1)
    return WriteCost(data + marks, max(rows, gone) if told is None else told, row_bytes)


def _files(actions: Iterable[dict[str, Any]], kind: str) -> _Actions:
    """By path; to write files together changes no row."""
    found = (each[kind] for each in actions if kind in each)
    return {each["path"]: each for each in found if each["dataChange"]}


def _bytes(files: _Actions) -> int:
    return sum(each["size"] for each in files.values())


def _rows(files: _Actions) -> int | None:
    """None where somebody has switched statistics off."""
    told = [_records(each) for each in files.values()]
    known = [each for each in told if each is not None]
    return sum(known) if len(known) == len(told) else None


def _records(file: Mapping[str, Any]) -> int | None:
    found: int | None = json.loads(file.get("stats") or "{}").get("numRecords")
    return found


def _gone(file: Mapping[str, Any], again: Mapping[str, Any] | None) -> int:
    """Rows that went with a file, or were marked in one that is added again."""
    if again is not None:
        return _vector(again)["cardinality"] - _vector(file)["cardinality"]
    return (_records(file) or 0) - _vector(file)["cardinality"]


def _vector(file: Mapping[str, Any]) -> Mapping[str, int]:
    return file.get("deletionVector") or {"sizeInBytes": 0, "cardinality": 0}


def _told(actions: Iterable[dict[str, Any]]) -> int | None:
    """How many rows a MERGE says that it has changed."""
    metrics: dict[str, str] = {}
    for each in actions:
        metrics |= each.get("commitInfo", {}).get("operationMetrics", {})
    if not any(name in metrics for name in _CHANGED):
        return None
    return sum(int(metrics.get(name, "0")) for name in _CHANGED)
