"""The first load: the exported snapshot's chunks as batches, in the order of the tables."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from headwater.contract import SourceBatch
from headwater.source.postgres.chunk import Chunk, Unit, plan
from headwater.source.postgres.connect import translated
from headwater.source.postgres.pieces import chunk_batches
from headwater.source.postgres.place import PendingTable, Place, SnapshotPlace
from headwater.source.postgres.session import Session
from headwater.source.postgres.snapshot import ChunkRows, ExportedSnapshot


class InitialLoad:
    """Reads all captured tables. `place` is where what was handed on leaves the source."""

    def __init__(self, session: Session, begin: Place, snapshot_name: str) -> None:
        self._uid = session.uid
        self._snapshot = ExportedSnapshot(session.config, snapshot_name)
        try:
            with translated(session.where):
                units = session.units(self._snapshot.connection)
                xmin = session.snapshot_xmin(self._snapshot.connection)
        except BaseException:
            self._snapshot.close()
            raise
        self.place = replace(begin, ready=True, snapshot=_owed(units, xmin))
        self._batches: Iterator[SourceBatch] = iter(())
        self._snapshot.begin(_chunks(units, session.config.chunk_rows))

    def read(self, max_events: int) -> SourceBatch | None:
        """The next batch; None after the last."""
        batch = next(self._batches, None)
        if batch is None:
            rows = self._snapshot.next()
            if rows is None:
                return None
            self._batches = self._emit(rows, max_events)
            batch = next(self._batches)
        if batch.events.closes_transaction:
            self.place = Place.decode(batch.position)
        return batch

    def _emit(self, rows: ChunkRows, max_events: int) -> Iterator[SourceBatch]:
        owed = self.place.snapshot
        if owed is None:
            return iter(())
        after = rows.chunk.after(owed.first, len(rows.images))
        unit = rows.chunk.unit
        return chunk_batches(self._uid, unit, rows.images, self.place, after, max_events)

    def close(self) -> None:
        """Give the snapshot up. Safe to call twice."""
        self._snapshot.close()


def _owed(units: tuple[Unit, ...], xmin: int) -> SnapshotPlace | None:
    if not units:
        return None
    pending = tuple(PendingTable(unit.oid, rows_total=unit.rows_total, xmin=xmin) for unit in units)
    return SnapshotPlace(f"{time.time_ns() // 1_000_000:x}", pending)


def _chunks(units: tuple[Unit, ...], rows_per_chunk: int) -> Iterator[Chunk]:
    for unit in units:
        yield from plan(unit, 0, rows_per_chunk)
