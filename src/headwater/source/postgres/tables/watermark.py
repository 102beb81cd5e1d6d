"""Chunks of existing rows on a running stream, without a lock and without writing anything.

A chunk shows the transactions that its snapshot sees. The stream delivers transactions in the order
of their commits, which is nearly, not exactly, the order in which snapshots begin to see them. So a
chunk waits until the stream has passed the position at which its snapshot was taken, and rows that
a transaction unseen by it has changed meanwhile are not taken from it (see overlay). A snapshot
that does not see what the stream has handed on already is too old (see handed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch
from headwater.source.postgres.lsn import record_end
from headwater.source.postgres.tables.chunk import Chunk, read_images
from headwater.source.postgres.tables.keys import absent
from headwater.source.postgres.tables.overlay import Overlay
from headwater.source.postgres.tables.pieces import Found

_XIDS = 1 << 32
_HERE = """
SELECT pg_current_snapshot()::text,
       (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
             ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint,
       current_setting('wal_block_size')::int,
       pg_size_bytes(current_setting('wal_segment_size')),
       pg_relation_filenode(%s::oid)::bigint
"""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Which transactions a snapshot sees. The stream names them by the low half of their number."""

    xmin: int
    xmax: int
    in_progress: frozenset[int]

    @classmethod
    def parse(cls, text: str) -> Visibility:
        """Read `pg_current_snapshot()`: xmin:xmax:in,progress."""
        xmin, xmax, running = text.split(":")
        low = frozenset(int(each) % _XIDS for each in running.split(",") if each)
        return cls(int(xmin), int(xmax), low)

    def sees_row(self) -> str:
        """A condition on a stored row: that the transaction which wrote it is seen."""
        older = f"age(xmin) > age('{self.xmin % _XIDS}'::xid)"
        below = f"age(xmin) > age('{self.xmax % _XIDS}'::xid)"
        running = ",".join(str(xid) for xid in sorted(self.in_progress))
        return f"({older} OR ({below} AND xmin::text <> ALL ('{{{running}}}'::text[])))"

    def may_be_unseen(self) -> str:
        """A condition that every stored row fulfils which is not seen, and some others.

        A row names the subtransaction that wrote it, a snapshot only whole transactions: so of rows
        written since the oldest of these began none is sure.
        """
        return f"age(xmin) <= age('{self.xmin % _XIDS}'::xid)"

    def unseen(self, xids: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Which of these transactions the snapshot does not see."""
        later = (xids - self.xmax % _XIDS) % _XIDS < _XIDS // 2
        return np.asarray(later | np.isin(xids, list(self.in_progress)), np.bool_)


@dataclass(frozen=True, slots=True)
class WaitingChunk:
    """A chunk that was read and waits for the stream to pass `until`."""

    chunk: Chunk
    images: pa.Array
    seen: str
    filenode: int | None
    until: int
    overlay: Overlay

    def note(self, events: EventBatch) -> None:
        """Take notice of events that go into the log before this chunk."""
        table = self.chunk.unit.captured.schema.table
        mine = pc.and_(
            pc.equal(events.column("table_name"), table.name),
            pc.equal(events.column("table_schema"), table.schema),
        )
        found = events.records.filter(pc.fill_null(mine, fill_value=False))
        if found.num_rows:
            xids = found.column("transaction").field("tx_id").to_numpy(zero_copy_only=False)
            unseen = Visibility.parse(self.seen).unseen(xids)
            self.overlay.note(found.filter(pa.array(unseen)))

    def rows(self) -> Found:
        """What goes into the log."""
        names = [column.name for column in self.chunk.unit.captured.schema.columns]
        keys = self.chunk.keys or ()
        gone = absent(keys, self.images, self.overlay)
        return Found(self.overlay.applied(self.images, names), gone)


def read_waiting(connection: psycopg.Connection, chunk: Chunk) -> WaitingChunk:
    """Read a chunk in a snapshot of its own."""
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        row = connection.execute(_HERE, (chunk.unit.oid,)).fetchone()
        images = read_images(connection, chunk)
    if row is None:
        raise AssertionError("a query without FROM gives one row")
    seen, lsn, page_bytes, segment_bytes, filenode = row
    until = record_end(lsn, page_bytes, segment_bytes)
    overlay = Overlay(chunk.unit.captured.schema.primary_key)
    return WaitingChunk(chunk, images, seen, filenode, until, overlay)
