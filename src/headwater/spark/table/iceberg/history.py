"""What a table's metadata says of its past: which snapshot is current, and how far it has come.

A snapshot of ours carries its position in its summary. Others may have added snapshots since, by
compaction for example, and those keep the position of the ones before them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

LOG = "headwater.log"
SEQUENCE = "headwater.sequence"
SNAPSHOT = "headwater.snapshot"
TABLE = "headwater.table"
MODE = "headwater.mode"


@dataclass(frozen=True, slots=True)
class History:
    """The snapshots that a table still has, its properties, and its columns by their numbers.

    `shapes` has the columns under every shape that the table ever had; `shape` is today's.
    """

    current: int | None
    snapshots: Mapping[int, Mapping[str, Any]]
    properties: Mapping[str, str]
    shapes: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    shape: int = 0
    branches: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, metadata: str) -> History:
        """Read Iceberg's metadata, as its specification writes it."""
        said = json.loads(metadata)
        current = said.get("current-snapshot-id")
        return cls(
            # A table without a snapshot says -1 in older metadata, and nothing in newer.
            current=None if current in (None, -1) else int(current),
            snapshots={int(each["snapshot-id"]): each for each in said.get("snapshots", ())},
            properties=said.get("properties", {}),
            shapes={
                int(shape["schema-id"]): {int(each["id"]): each["name"] for each in shape["fields"]}
                for shape in said.get("schemas", ())
            },
            shape=int(said.get("current-schema-id", 0)),
            branches={name: int(ref["snapshot-id"]) for name, ref in said.get("refs", {}).items()},
        )

    def on(self, branch: str) -> History:
        """The same from the side of a branch, whose newest snapshot is the current one then."""
        return replace(self, current=self.branches.get(branch))

    @property
    def base(self) -> int:
        """The current snapshot, for what cannot do without one."""
        if self.current is None:
            raise ValueError("there is no snapshot to begin with")
        return self.current

    @property
    def columns(self) -> Mapping[int, str]:
        """The names of the columns by the numbers that Iceberg knows them by for ever."""
        return self.shapes.get(self.shape, {})

    def shape_then(self, snapshot: int) -> int:
        """The shape that the table had when a snapshot was made."""
        return int(self.snapshots.get(snapshot, {}).get("schema-id", self.shape))

    @property
    def newest(self) -> Mapping[str, str]:
        """The summary of the current snapshot, empty if there is none."""
        return next(self._summaries(), {})

    @property
    def files(self) -> int:
        """How many data files the table has."""
        return int(self.newest.get("total-data-files", 0))

    def applied(self, log_id: str) -> int:
        """The last sequence number of a log that is in the table.

        The highest, not the newest: a driver that was overtaken may have written after its
        successor, without effect on any row.
        """
        known = [
            int(summary[SEQUENCE])
            for summary in self._summaries()
            if summary.get(LOG) == log_id and SEQUENCE in summary
        ]
        return max(known) if known else self._noted(log_id)

    def is_of_another(self, log_id: str) -> bool:
        """Whether there are another log's changes, and none of this one: not of its loads either.

        What a load marks has more behind the log's name.
        """
        told = (each.get(LOG) for each in (*self._summaries(), self.properties))
        logs = {name.partition(":")[0] for name in told if name is not None}
        return bool(logs) and log_id.partition(":")[0] not in logs

    def rested(self, snapshot: int, log_id: str, position: int) -> int:
        """The newest snapshot that has the rows of another: only files were written anew since.

        Of snapshots that have expired the others must have changed nothing, and the position must
        still be the same.
        """
        later: list[int] = []
        at = self.current
        while at is not None and at != snapshot and at in self.snapshots:
            later.append(at)
            at = self.snapshots[at].get("parent-snapshot-id")
        forgotten, found = at != snapshot, snapshot
        for each in reversed(later):
            if not self._only_files(each, found):
                return snapshot if forgotten else found
            found = each
        return snapshot if forgotten and self.applied(log_id) != position else found

    def _only_files(self, snapshot: int, before: int) -> bool:
        """Whether it has the rows and the columns of the one before."""
        summary = self.snapshots[snapshot].get("summary", {})
        same = self.shape_then(snapshot) == self.shape_then(before)
        return same and summary.get("operation") == "replace"

    def _summaries(self) -> Iterator[Mapping[str, str]]:
        """Of the current snapshot and of those that it came from, as far as they are kept."""
        at = self.current
        while at is not None and (snapshot := self.snapshots.get(at)) is not None:
            yield snapshot.get("summary", {})
            at = snapshot.get("parent-snapshot-id")

    def _noted(self, log_id: str) -> int:
        """The position in the properties, which outlives the snapshot that it is about.

        While that snapshot is kept and yet the table does not come from it, somebody went back to
        an older one: then the property tells of rows that are not there.
        """
        noted = self.properties
        if noted.get(LOG) != log_id or int(noted.get(SNAPSHOT, 0)) in self.snapshots:
            return 0
        return int(noted.get(SEQUENCE, 0))
