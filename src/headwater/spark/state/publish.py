"""The commit that ends a micro-batch: the versions that now belong together are made known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.failpoint import failpoint
from headwater.spark.state.entry import Entry, Key, Reached, latest, out_of_step
from headwater.spark.state.store import Kind, store_of
from headwater.spark.state.table import StateTable, Writer


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch that went through: its end, the newest commit time in it, and what it moved."""

    until: int
    committed_at_us: int
    reached: Sequence[Reached]


@dataclass(slots=True)
class Publication:
    """Publishes sets of versions of one writer.

    A batch ends at a transaction's end, so tables that all stand at its end show whole
    transactions only (INV-7). With `whole_only` a set in which a table is missing, because it is
    parked or had gone ahead before a crash, is written down and not published.
    """

    location: str
    writer: Writer
    whole_only: bool = True
    kind: Kind = "delta"
    keeps: Callable[[TableId], bool] = field(default=lambda _table: True, compare=False)
    _last: dict[Key, Entry] = field(default_factory=dict, compare=False)
    _until: int = field(default=0, compare=False)
    # Of the state table as we left it: if it is still there, nobody else has written.
    _version: int | None = field(default=None, compare=False)

    def __call__(
        self, session: SparkSession, batch: Finished, present: Callable[[], Iterable[Reached]]
    ) -> None:
        """Write the batch down once; `present` finds the tables from before there was a state."""
        table = StateTable(store_of(self.kind, session, self.location), self.writer)
        version = table.version()
        if version != self._version:
            written = table.written()
            self._last, self._until, self._version = latest(written.last), written.until, version
        moved = self._news(batch)
        if self._until >= batch.until and not moved:
            return
        if not self._last and not moved:  # nothing can be seen yet: tables are being loaded
            return
        fresh = [self._entry(each, batch, batch.until) for each in moved]
        fresh += [
            entry.left(batch.until)
            for entry in self._last.values()
            if not entry.is_left and not self.keeps(entry.table)
        ]
        if not self._last:
            fresh += self._older(batch, present())
        last = {**self._last, **latest(fresh)}
        published = not (self.whole_only and out_of_step(last, batch.until))
        at_end = [
            replace(each, published=published and each.sequence == batch.until) for each in fresh
        ]
        failpoint("spark.state.before_commit")
        self._version = table.append(at_end, batch.until, published=published)
        failpoint("spark.state.after_commit")
        self._last, self._until = last, batch.until

    def _news(self, batch: Finished) -> Sequence[Reached]:
        """What the state does not say yet: a table may appear whole at an end that it knows."""
        if self._until < batch.until:
            return batch.reached
        if self._until > batch.until:
            return ()
        seen = {key for key, entry in self._last.items() if not entry.is_left}
        return [each for each in batch.reached if (each.table, each.mode) not in seen]

    def _older(self, batch: Finished, present: Iterable[Reached]) -> list[Entry]:
        """Tables that the batch did not touch stand at their own position, or ahead of it."""
        moved = {(each.table, each.mode) for each in batch.reached}
        return [
            self._entry(each, batch, min(each.applied, batch.until))
            for each in present
            if (each.table, each.mode) not in moved
        ]

    def _entry(self, reached: Reached, batch: Finished, sequence: int) -> Entry:
        return Entry(
            sequence=sequence,
            table=reached.table,
            mode=reached.mode,
            path=reached.place.removeprefix(f"{self.location.rstrip('/')}/"),
            version=reached.version,
            applied=reached.applied,
            published=False,
            committed_at_us=batch.committed_at_us,
            applied_at_us=time.time_ns() // 1000,
        )
