"""Bugs to plant in a PostgreSQL worker, most of them found in other capture programs."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headwater.contract import LogWriter, Phase, SourceBatch
from headwater.event import EventBatch
from headwater.event.schema import EVENT_SCHEMA
from headwater.failpoint import failpoint
from headwater.runtime.capture import CaptureLoop
from headwater.source.postgres.stream.assemble import Assembled
from headwater.source.postgres.stream.running import Stream
from headwater.source.postgres.stream.spool import Numbers, Spool
from headwater.source.postgres.tables import snapshot, watermark
from headwater.source.postgres.tables.chunk import read_images

_TOLD_S = 0.05


def confirm_before_durable() -> None:
    """INV-2: the server may forget what the log does not hold yet."""
    keep = CaptureLoop._keep

    def broken(self: CaptureLoop, writer: LogWriter, batch: SourceBatch) -> None:
        self._source.confirm(batch.position)
        if batch.phase is Phase.STREAM and batch.events.closes_transaction and len(batch.events):
            time.sleep(_TOLD_S)  # the server hears of it from the receiving thread
            failpoint("plant.window")
        keep(self, writer, batch)

    CaptureLoop._keep = broken  # type: ignore[method-assign]


def position_of_a_row() -> None:
    """INV-6: resume where the last row stands, not where its transaction ends."""

    def earlier(assembled: Assembled) -> Assembled:
        if assembled.lsn is None or not len(assembled.events):
            return assembled
        return replace(assembled, lsn=assembled.lsn - 64)

    _before_handing_on(earlier)
    _window_after(lambda batch: batch.events.closes_transaction and len(batch.events) > 0)


def piece_for_whole() -> None:
    """INV-7: a piece of a transaction is handed on as if it were all of it."""
    make, pieces = Stream._batch, list[SourceBatch]()

    def broken(self: Stream, assembled: Assembled, waiting: Any) -> SourceBatch | None:
        batch = make(self, assembled, waiting)
        if batch is None or batch.events.closes_transaction:
            return batch
        pieces[:] = [replace(batch, events=EventBatch(batch.events.records))]
        return pieces[0]

    Stream._batch = broken  # type: ignore[method-assign]
    _window_after(lambda batch: batch in pieces)


def positive_keys_only() -> None:
    """A snapshot that begins after key 0."""

    def broken(*given: Any) -> pa.Array:
        images = read_images(*given)
        kept = [json.loads(image).get("id", 1) > 0 for image in images.to_pylist()]
        return images.filter(pa.array(kept, pa.bool_()))

    snapshot.read_images = broken  # type: ignore[attr-defined, assignment]
    watermark.read_images = broken  # type: ignore[attr-defined, assignment]


def unchanged_as_null() -> None:
    """A long value that the server did not send is written as null."""
    _before_handing_on(lambda it: replace(it, events=_nulled(it.events)))


def _nulled(events: EventBatch) -> EventBatch:
    rows = events.records.to_pylist()
    for row in rows:
        if row["unavailable_columns"]:
            nulls = dict.fromkeys(row["unavailable_columns"])
            row["after"] = json.dumps(json.loads(row["after"]) | nulls)
            row["unavailable_columns"] = None
    records = pa.RecordBatch.from_pylist(rows, schema=EVENT_SCHEMA)
    return EventBatch(records, events.closes_transaction)


def second_block_lost() -> None:
    """A transaction sent in several blocks lacks the second."""
    add, blocks = Spool.add, Counter[int]()

    def broken(self: Spool, xid: int, buffer: bytes, starts: Numbers, ends: Numbers) -> None:
        tag = buffer[int(starts[0])]
        blocks[xid] += tag == ord("S")
        if blocks[xid] != 2 or tag in b"SE":
            add(self, xid, buffer, starts, ends)

    Spool.add = broken  # type: ignore[method-assign]


def undone_part_kept() -> None:
    """What was rolled back to a savepoint stays in a transaction that was sent in progress."""
    abort = Spool.abort

    def broken(self: Spool, xid: int, subxid: int) -> None:
        if xid == subxid:
            abort(self, xid, subxid)

    Spool.abort = broken  # type: ignore[method-assign]


def undone_transaction_kept() -> None:
    """A transaction that was sent in progress and rolled back is handed on with the next commit."""
    take = Spool.take

    def broken(self: Spool, xid: int) -> Any:
        for other in [*sorted(self._held.keys() - {xid}), xid]:
            yield from take(self, other)

    Spool.abort = lambda *_: None  # type: ignore[method-assign]
    Spool.take = broken  # type: ignore[method-assign]


def chunk_too_early() -> None:
    """Owed rows go into the log before the older changes that the server still has to send."""
    Stream.passed = lambda *_: True  # type: ignore[method-assign]


def _window_after(planted: Callable[[SourceBatch], bool]) -> None:
    """The window of a bug is open when the batch that has it is in the log, and the next is not."""
    read, last = Stream.read, list[SourceBatch]()

    def watched(self: Stream, *given: Any) -> SourceBatch | None:
        if last and planted(last.pop()):
            failpoint("plant.window")
        batch = read(self, *given)
        last[:] = [] if batch is None else [batch]
        return batch

    Stream.read = watched  # type: ignore[method-assign, assignment]


def _before_handing_on(change: Callable[[Assembled], Assembled]) -> None:
    make = Stream._batch

    def broken(self: Stream, assembled: Assembled, waiting: Any) -> SourceBatch | None:
        return make(self, change(assembled), waiting)

    Stream._batch = broken  # type: ignore[method-assign]


PLANTS: dict[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        confirm_before_durable,
        position_of_a_row,
        piece_for_whole,
        positive_keys_only,
        unchanged_as_null,
        second_block_lost,
        undone_part_kept,
        undone_transaction_kept,
        chunk_too_early,
    )
}
