"""The files of Delta tables as their only writer knows them, so that no batch lists them again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from threading import Lock
from typing import Any

from headwater.spark.table.deltalog import noted
from headwater.spark.table.target import Ranges

_Version = tuple[str, int]


@dataclass(slots=True)
class KnownFiles:
    """By table: one version, and its `AddFile` actions by path.

    A version of a table never changes. So what was committed on top of a known version is known
    too, and what anybody else has committed shows as a version that is not. A table that was made
    anew at the same place has another id.
    """

    _tables: dict[str, tuple[_Version, Mapping[str, Any]]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, table: str, snapshot: Any) -> Mapping[str, Any]:
        """The files of a version; Delta is asked only for one that is not known."""
        with self._lock:
            known = self._tables.get(table)
        if known is not None and known[0] == (_id(snapshot), int(snapshot.version())):
            return known[1]
        note = noted(snapshot)
        if note is not None and not int(note.numFiles()):
            return {}
        return {each.path(): each for each in snapshot.allFiles().collect()}

    def keep(self, table: str, begun: Any, version: int, files: Mapping[str, Any]) -> None:
        """Know the files of a version that a transaction has just committed.

        If another commit has come between, only Delta knows what the two make together.
        """
        if version == int(begun.readVersion()) + 1:
            with self._lock:
                self._tables[table] = ((_id(begun.snapshot()), version), files)


def _id(snapshot: Any) -> str:
    return str(snapshot.metadata().id())


def after_commit(
    files: Mapping[str, Any], removed: Iterable[str], added: Iterable[Any]
) -> dict[str, Any]:
    """The files after a commit: a file whose rows were marked is removed and added again."""
    gone = set(removed)
    kept = {path: file for path, file in files.items() if path not in gone}
    return kept | {each.path(): each for each in added}


def overlapping(files: Mapping[str, Any], column: str, ranges: Ranges) -> Mapping[str, Any]:
    """The files that may hold a value in one of the ranges; all of them if there is none.

    The column is named as the files name it.
    """
    if not ranges:
        return files
    told = [(_as_told(low), _as_told(high)) for low, high in ranges]
    return {path: file for path, file in files.items() if _may_hold(file.stats(), column, told)}


def _may_hold(stats: str | None, column: str, ranges: Ranges) -> bool:
    """Whether the bounds in a file's statistics meet a range; without bounds they may."""
    said = json.loads(stats or "{}")
    least, greatest = (said.get(name, {}).get(column) for name in ("minValues", "maxValues"))
    if least is None or greatest is None:
        return True
    return any(least <= high and low <= greatest for low, high in ranges)


def _as_told(end: Any) -> Any:
    return end.isoformat() if isinstance(end, date) else end
