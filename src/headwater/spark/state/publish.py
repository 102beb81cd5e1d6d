"""The commit that ends a micro-batch: the versions that now belong together are made known."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.failpoint import failpoint
from headwater.spark.modes import Modes
from headwater.spark.state.entry import (
    NONE,
    Entry,
    Key,
    Reached,
    latest,
    out_of_step,
    passed_over,
    without_events,
)
from headwater.spark.state.store import Kind, store_of
from headwater.spark.state.table import StateTable, Writer, Written


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch that went through: its end, the newest commit time in it, and what it moved.

    `there` are tables that it did not move and the state has not met, `missing` those that lack
    nothing and are yet to come, without a version. `passed` are tables of which it held rows that
    nobody keeps; `places` has those that did not take all up to its end, kept or not, each with the
    last event that it has taken.
    """

    until: int
    committed_at_us: int
    reached: Sequence[Reached]
    there: Sequence[Reached] = ()
    missing: Sequence[Reached] = ()
    passed: Sequence[TableId] = ()
    places: Mapping[Key, int] = field(default_factory=dict)


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
    _last: dict[Key, Entry] = field(default_factory=dict, compare=False)
    _until: int = field(default=0, compare=False)
    # Of the state table as we left it: if it is still there, nobody else has written.
    _version: int | None = field(default=None, compare=False)

    def written(self, session: SparkSession) -> Written:
        """What was written down so far, by this driver or another."""
        self._refreshed(session)
        return Written(self._until, tuple(self._last.values()))

    @property
    def until(self) -> int:
        """The end of the last batch that was written down."""
        return self._until

    def met(self) -> Collection[Key]:
        """The tables of which something was written down."""
        return self._last.keys()

    def applied(self, key: Key) -> int:
        """Up to where a table was seen by now, without another look; 0 if it never was."""
        entry = self._last.get(key)
        return entry.applied if entry is not None and entry.is_there else 0

    def unmet(self, session: SparkSession, kept: Iterable[Key]) -> set[Key]:
        """Those of the kept tables of which nothing was written down."""
        self._refreshed(session)
        return {key for key in kept if key not in self._last}

    def _refreshed(self, session: SparkSession) -> StateTable:
        table = StateTable(store_of(self.kind, session, self.location), self.writer)
        version = table.version()
        if version != self._version:
            written = table.written()
            self._last, self._until, self._version = latest(written.last), written.until, version
        return table

    def __call__(self, session: SparkSession, batch: Finished, modes: Modes) -> None:
        """Write the batch down once."""
        table = self._refreshed(session)
        moved = self._news(batch)
        missing = [each for each in batch.missing if self._is_met_anew(each)]
        if self._until > batch.until or (self._until == batch.until and not (moved or missing)):
            return
        if not (self._last or moved or missing or batch.passed):  # nobody keeps anything
            return
        fresh = [self._entry(each, batch, batch.until) for each in (*moved, *missing)]
        fresh += self._older(batch)
        fresh += self._unkept(batch, modes)
        fresh += self._behind(batch, modes)
        last = {**self._last, **latest(fresh)}
        published = not (self.whole_only and out_of_step(last, batch.until))
        at_end = [
            replace(each, published=published and each.sequence == batch.until) for each in fresh
        ]
        failpoint("spark.state.before_commit")
        self._version = table.append(at_end, batch.until, published=published)
        failpoint("spark.state.after_commit")
        self._last, self._until = last, batch.until

    def _unkept(self, batch: Finished, modes: Modes) -> Iterator[Entry]:
        """What the stream has stopped to keep, and what it never did: each is said once."""
        for entry in self._last.values():
            if not entry.is_left and entry.mode not in modes.of(entry.table):
                left = entry.left(batch.until, self._until)
                place = batch.places.get(entry.key, left.applied)
                yield replace(left, applied=min(left.applied, place))
        met = {table for table, _ in self._last}
        for table in batch.passed:
            if table not in met:
                yield passed_over(table, modes.default, batch.until)

    def _behind(self, batch: Finished, modes: Modes) -> Iterator[Entry]:
        """Those that did not take the batch stand where they stood, and so make no whole set.

        It is said once: what is behind stays so until it has moved.
        """
        for key, place in batch.places.items():
            entry = self._last.get(key)
            if key[1] not in modes.of(key[0]) or place >= batch.until:
                continue
            if entry is None:
                yield without_events(key, batch.until, place)
            elif not entry.is_left and entry.applied < batch.until and not entry.is_behind:
                yield replace(entry, sequence=batch.until)

    def _news(self, batch: Finished) -> Sequence[Reached]:
        """What the state does not say yet: at an end that it knows tables appear, or catch up."""
        if self._until < batch.until:
            return batch.reached
        if self._until > batch.until:
            return ()
        return [each for each in batch.reached if self._is_news(each, batch.until)]

    def _is_news(self, reached: Reached, until: int) -> bool:
        entry = self._last.get((reached.table, reached.mode))
        if entry is None or not entry.is_there:
            return True
        return not entry.stands_at(until) and reached.applied > entry.applied

    def _is_met_anew(self, missing: Reached) -> bool:
        entry = self._last.get((missing.table, missing.mode))
        return entry is None or entry.is_left or (entry.version == NONE and entry.is_behind)

    def _older(self, batch: Finished) -> list[Entry]:
        """Tables that the batch did not touch stand at their own position, or ahead of it."""
        return [
            self._entry(each, batch, min(each.applied, batch.until))
            for each in batch.there
            if each.applied
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
