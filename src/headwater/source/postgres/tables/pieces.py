"""A chunk of rows as batches: one transaction for the log, in as many pieces as it takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from headwater.contract import Phase, SnapshotProgress, SourceBatch
from headwater.event import EventBatch, TableId
from headwater.source.postgres.events import restart_events, snapshot_events
from headwater.source.postgres.place import PendingTable, Place
from headwater.source.postgres.tables.chunk import Unit


class Owner(Protocol):
    """Whose rows they are."""

    @property
    def uid(self) -> str:
        """The source's identity, part of every event id."""
        ...

    def owed_at(self, at: Place) -> tuple[TableId, ...]:
        """The tables of which rows are still to come at a place."""
        ...


def chunk_batches(
    owner: Owner,
    unit: Unit,
    images: pa.Array,
    before: Place,
    after_table: PendingTable | None,
    max_events: int,
) -> Iterator[SourceBatch]:
    """The rows of a chunk; `after_table` is where it leaves the table, None if that is done.

    Only the last piece moves the position, so a chunk is kept whole or not at all.
    """
    snapshot = before.snapshot
    if snapshot is None:
        return
    after = replace(before, snapshot=snapshot.next_chunk().with_first(after_table))
    block = {
        "snapshot_id": snapshot.snapshot_id,
        "chunk_index": snapshot.chunk_index,
        "is_last_chunk": after.snapshot is None,
    }
    prefix = f"{snapshot.snapshot_id}:{unit.oid}:{snapshot.chunk_index}"
    now_ms = time.time_ns() // 1_000_000
    events = snapshot_events(owner.uid, unit.captured, images, prefix, block, now_ms)
    if snapshot.first.anew:
        gone = restart_events(owner.uid, [unit.captured], prefix, now_ms)
        events = EventBatch.concat([gone, events])
    progress = SnapshotProgress(
        table=str(unit.captured.schema.table),
        rows_done=snapshot.first.rows_done + len(images),
        rows_total=snapshot.first.rows_total,
        done=after_table is None,
        rows_left=0 if after.snapshot is None else after.snapshot.rows_left,
    )
    begin, last = 0, False
    while not last:
        end = min(begin + max_events, len(events))
        last = end == len(events)
        yield SourceBatch(
            EventBatch(events.records.slice(begin, end - begin), last),
            (after if last else before).encode(),
            (unit.captured.schema,) if begin == 0 else (),
            Phase.SNAPSHOT,
            progress,
            owner.owed_at(after) if last else None,
        )
        begin = end
