"""The rows of a PostgreSQL source at one moment, and which event of the log that moment is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow.compute as pc

from headwater.contract import LogReader
from headwater.errors import TransientError
from headwater.event import EventBatch, Position, TableId
from headwater.event.verbatim import Image
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.place import Place
from headwater.source.postgres.tables.rows import Moment, MomentRows, nothing_waits, open_rows

LogPosition = Callable[[], str | None]


class PostgresRows:
    """Implements verifier.SourceRows within one read transaction."""

    def __init__(
        self, found: MomentRows, config: PostgresSourceConfig, log_position: LogPosition
    ) -> None:
        self._found = found
        self._config = config
        self._log_position = log_position
        self._looked = False

    def images(self, table: TableId) -> Iterator[Image]:
        """Rows through the functions that the snapshot uses, so that every value has one form."""
        for images in self._found.images(table):
            yield from images.to_pylist()

    def estimate(self, table: TableId) -> int | None:
        """What the server believes, since it last counted."""
        return self._found.estimate(table)

    def sequence(self, reader: LogReader, after: int) -> int | None:
        """The event before the first one that the moment has not seen; the head if there is none.

        Transactions become visible almost in the order of their commits. Where two did not, no
        event of the log is the moment, and the rows have to be read again.
        """
        if not self._held():
            return None
        moment, head = self._found.moment, reader.bounds().head
        border: int | None = None
        for batch in reader.read(after, head):
            seen = _seen(batch, moment)
            if border is None:
                border = next((number for number, flag in seen if not flag), None)
            if border is not None and any(flag and number > border for number, flag in seen):
                raise TransientError(
                    "verify-unordered",
                    "a transaction became visible before one that was committed earlier",
                )
        return head if border is None else border - 1

    def _held(self) -> bool:
        """Whether the log holds everything that the moment has seen."""
        text = self._log_position()
        if text is None:
            return False
        here = Place.decode(Position.decode(text))
        if here.decided or here.snapshot is not None:
            return False
        until = self._found.moment.lsn
        if here.lsn >= until:
            return True
        # A server at rest still writes log of its own, which an idle pipeline does not pass. It is
        # asked once: while nobody reads the slot, nothing but a start of capture can change it.
        if self._looked:
            return False
        self._looked = True
        return nothing_waits(self._config, here.lsn, until)


def _seen(batch: EventBatch, moment: Moment) -> list[tuple[int, bool]]:
    """Number and visibility of every event that has a transaction; snapshot rows have none."""
    ids = pc.struct_field(batch.column("transaction"), "tx_id").to_pylist()
    known = {xid: moment.sees(xid) for xid in set(ids) if xid is not None}
    first = batch.first_sequence
    return [(first + place, known[xid]) for place, xid in enumerate(ids) if xid is not None]


@contextmanager
def postgres_rows(
    config: PostgresSourceConfig, log_position: LogPosition
) -> Iterator[PostgresRows]:
    """Connect and hold one read transaction while the rows are read."""
    with open_rows(config) as found:
        yield PostgresRows(found, config, log_position)
