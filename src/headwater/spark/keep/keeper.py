"""When a table's files are looked after: by what they are, so a restart forgets nothing.

A table may have twice as many files as its size takes, and `surplus` more. After each batch the
table that is furthest beyond that is compacted, one at the most, so that a batch is never held up
for long. What a table no longer needs goes when it is older than `retain_s`: of the tables that a
batch wrote the one that waits longest is looked through for that, one a minute at the most and each
once an hour at the most.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.modes import Mode, name_of
from headwater.spark.table.upkeep import Files, Upkeep, Upkeeps, WriteCost

_MIB = 1024**2
_EXPIRE_S, _EXPIRE_APART_S = 3600, 60


@dataclass(frozen=True, slots=True)
class KeepPolicy:
    """What is done. `retain_s` None removes nothing."""

    compact: bool = True
    target_bytes: int = 128 * _MIB
    surplus: int = 32
    retain_s: int | None = 7 * 24 * 3600


class KeepWatch(Protocol):
    """Who wants to hear of files; a failure is told here and not raised: the rows are right."""

    def files(self, name: str, files: Files, cost: WriteCost | None) -> None:
        """What a table that took a batch consists of now, and what the batch cost."""
        ...

    def compacted(self, name: str, before: Files, after: Files) -> None:
        """A table was compacted."""
        ...

    def failed(self, name: str, error: Exception) -> None:
        """A table could not be looked after; the next batch tries again."""
        ...


class NoKeepWatch:
    """Implements KeepWatch for nobody."""

    def files(self, name: str, files: Files, cost: WriteCost | None) -> None:
        """Not told."""

    def compacted(self, name: str, before: Files, after: Files) -> None:
        """Not told."""

    def failed(self, name: str, error: Exception) -> None:
        """Not told."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """Looks after the tables of a lake."""

    tables: Upkeeps
    policy: KeepPolicy = field(default_factory=KeepPolicy)
    watch: KeepWatch = field(default_factory=NoKeepWatch)
    # By table: when old files were last looked for, whether they could be removed or not.
    _expired: dict[str, float] = field(default_factory=dict)

    def after_batch(self, session: SparkSession, written: Iterable[tuple[TableId, Mode]]) -> None:
        """Look at the tables that a batch wrote, and do what is most needed."""
        there: dict[str, Upkeep] = {}
        found: list[tuple[int, str, Upkeep, Files]] = []
        for table, mode in written:
            name = name_of(table, mode)
            try:
                upkeep = self.tables.upkeep(session, table, mode)
                files = upkeep.files()
                self.watch.files(name, files, upkeep.last_cost())
            except Exception as exc:  # noqa: BLE001 - the batch is applied; files can wait
                self.watch.failed(name, exc)
                continue
            there[name] = upkeep
            surplus = files.surplus(self.policy.target_bytes)
            if surplus > self.policy.surplus:
                found.append((surplus, name, upkeep, files))
        if self.policy.compact and found:
            _, name, upkeep, files = max(found, key=lambda each: each[0])
            self._compact(name, upkeep, files)
        if self.policy.retain_s is not None and there:
            self._expire(there, self.policy.retain_s)

    def _compact(self, name: str, upkeep: Upkeep, before: Files) -> None:
        try:
            upkeep.compact(self.policy.target_bytes, self.policy.surplus // 4)
        except Exception as exc:  # noqa: BLE001 - the batch is applied; files can wait
            self.watch.failed(name, exc)
        else:
            self.watch.compacted(name, before, upkeep.files())

    def _expire(self, tables: Mapping[str, Upkeep], retain_s: int) -> None:
        """To look for old files takes as long as to compact a small table: not every time."""
        now = time.time()
        if now - max(self._expired.values(), default=0) < min(retain_s, _EXPIRE_APART_S):
            return
        name = next(iter(tables))
        try:
            for name in tables.keys() - self._expired.keys():
                self._expired[name] = min(tables[name].expired_at(), now)
            name = min(tables, key=self._expired.__getitem__)
            if now - self._expired[name] >= min(retain_s, _EXPIRE_S):
                self._expired[name] = now
                tables[name].expire(retain_s)
        except Exception as exc:  # noqa: BLE001 - the batch is applied; files can wait
            self.watch.failed(name, exc)
