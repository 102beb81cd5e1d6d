"""The files of Delta tables as their only writer knows them, so that no batch lists them again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from headwater.spark.table.deltalog import noted


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
                self._tables[table] = (version, files)


def after_commit(
    files: Mapping[str, Any], removed: Iterable[str], added: Iterable[Any]
) -> dict[str, Any]:
    """The files after a commit: a file whose rows were marked is removed and added again."""
    gone = set(removed)
    kept = {path: file for path, file in files.items() if path not in gone}
    return kept | {each.path(): each for each in added}
