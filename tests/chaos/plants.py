"""Bugs to plant in a worker. Each breaks one invariant; the suite must see every one of them.

Where the window of a bug holds no failpoint of the product, it has one of its own, `plant.window`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headwater.contract import LogWriter, SourceBatch
from headwater.event import EventBatch
from headwater.failpoint import failpoint
from headwater.log.connection import transaction
from headwater.log.writer import SqliteLogWriter
from headwater.runtime.capture import CaptureLoop
from headwater.runtime.delivery import DeliveryLoop
from headwater.runtime.subscription import Delivery


def position_before_data() -> None:
    """INV-6: the position is durable in a transaction of its own, before the events are."""
    append = SqliteLogWriter.append

    def broken(self: SqliteLogWriter, batch: SourceBatch) -> int:
        with transaction(self._db):
            self._advance(self._head, batch.position)
        return append(self, batch)

    SqliteLogWriter.append = broken  # type: ignore[method-assign]


def data_before_position() -> None:
    """INV-6: the events are durable first, the position in a second transaction."""
    advance = SqliteLogWriter._advance

    def broken(self: SqliteLogWriter, head: int, position: object) -> None:
        if self._position is not None:
            advance(self, head, self._position)
            self._db.execute("COMMIT")
            failpoint("plant.window")
            self._db.execute("BEGIN IMMEDIATE")
        advance(self, head, position)  # type: ignore[arg-type]

    SqliteLogWriter._advance = broken  # type: ignore[method-assign]


def pieces_visible() -> None:
    """INV-7: a piece of a transaction is shown as soon as it is stored."""
    append = SqliteLogWriter.append

    def broken(self: SqliteLogWriter, batch: SourceBatch) -> int:
        shown = EventBatch(batch.events.records, closes_transaction=True)
        return append(self, replace(batch, events=shown))

    SqliteLogWriter.append = broken  # type: ignore[method-assign]


def pieces_kept() -> None:
    """INV-7: a new writer does not cut off what the killed one left unfinished."""
    take_over = SqliteLogWriter._take_over

    def broken(self: SqliteLogWriter, source: object) -> int:
        stored = self._db.execute("SELECT max(last_seq) FROM segment").fetchone()[0]
        if stored is not None:
            self._db.execute("UPDATE state SET head = max(head, ?)", (stored,))
        return take_over(self, source)  # type: ignore[arg-type]

    SqliteLogWriter._take_over = broken  # type: ignore[method-assign]


def confirm_before_append() -> None:
    """INV-2: the source may forget what the log does not hold yet."""
    keep = CaptureLoop._keep

    def broken(self: CaptureLoop, writer: LogWriter, batch: SourceBatch) -> None:
        self._source.confirm(batch.position)
        keep(self, writer, batch)

    CaptureLoop._keep = broken  # type: ignore[method-assign]


def cursor_before_ack() -> None:
    """INV-1: the cursor moves when events are handed out, not when they are dealt with."""
    deliver = DeliveryLoop._deliver

    def broken(self: DeliveryLoop, delivery: Delivery) -> None:
        self._subscription._cursor.ack(delivery.last_sequence)
        deliver(self, delivery)

    DeliveryLoop._deliver = broken  # type: ignore[method-assign]


def ack_before_flush() -> None:
    """INV-1: what the sink has only accepted is acknowledged as if it were durable."""
    flush = DeliveryLoop._flush

    def broken(self: DeliveryLoop) -> None:
        if self._pending:
            self._subscription._cursor.ack(self._pending[-1].last_sequence)
            failpoint("plant.window")
        flush(self)

    DeliveryLoop._flush = broken  # type: ignore[method-assign]


PLANTS: dict[str, Callable[[], None]] = {
    plant.__name__: plant
    for plant in (
        position_before_data,
        data_before_position,
        pieces_visible,
        pieces_kept,
        confirm_before_append,
        cursor_before_ack,
        ack_before_flush,
    )
}
