"""The files of Delta tables as their only writer knows them, so that no batch lists them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any


@dataclass(slots=True)
class KnownFiles:
    """By table: one version, and its `AddFile` actions by path.

    A version of a table never changes. So what was committed on top of a known version is known
    too, and what anybody else has committed shows as a version that is not.
    """

    _tables: dict[str, tuple[int, Mapping[str, Any]]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, table: str, snapshot: Any) -> Mapping[str, Any]:
        """The files of a version; Delta is asked only for one that is not known."""
        version = int(snapshot.version())
        with self._lock:
            known = self._tables.get(table)
        if known is not None and known[0] == version:
            return known[1]
        return {each.path(): each for each in snapshot.allFiles().collect()}

    def keep(self, table: str, version: int, files: Mapping[str, Any]) -> None:
        """Know the files of a version that was just committed."""
        with self._lock:
            self._tables[table] = (version, files)


def after_commit(
    files: Mapping[str, Any], removed: Iterable[str], added: Iterable[Any]
) -> dict[str, Any]:
    """The files after a commit: a file whose rows were marked is removed and added again."""
    gone = set(removed)
    kept = {path: file for path, file in files.items() if path not in gone}
    return kept | {each.path(): each for each in added}
