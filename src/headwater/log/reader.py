"""Readers: visible events in order, from any process. Damage is an error, never a skip."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headwater.contract import Lag, LogBounds, SegmentInfo
from headwater.errors import CorruptionError, GapError
from headwater.event import EventBatch, TableId, TableSchema
from headwater.log import loads, payload
from headwater.log.connection import connect, translated
from headwater.log.lag import lag_after

# Enough to make small commits cheap to read; few enough to bound what one fetch holds.
_SEGMENTS_PER_FETCH = 16


@dataclass(frozen=True, slots=True)
class _Stored:
    first: int
    last: int
    closes: bool
    digest: bytes
    data: bytes

    def batch(self) -> EventBatch:
        """Check and decode; ValueError says what is wrong."""
        expected = payload.checksum(
            self.first, self.last, self.data, closes_transaction=self.closes
        )
        if expected != self.digest:
            raise ValueError("the checksum does not match")
        batch = payload.decode(self.data, closes_transaction=self.closes)
        if len(batch) != self.last - self.first + 1:
            raise ValueError("the number of events does not match")
        return batch


class SqliteLogReader:
    """Reads a log. Implements contract.LogReader."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db = connect(path)
        self._schemas: dict[int, TableSchema] = {}

    @property
    def log_id(self) -> str:
        """The log's own identity."""
        with translated(self._path):
            row = self._db.execute("SELECT value FROM meta WHERE key = 'log_id'").fetchone()
        return str(row[0])

    def bounds(self) -> LogBounds:
        """What can be read now."""
        with translated(self._path):
            tail, head = self._db.execute("SELECT tail, head FROM state").fetchone()
        return LogBounds(tail, head)

    def read(self, after: int, until: int | None = None) -> Iterator[EventBatch]:
        """Stored batches of (after, until]; see contract.LogReader.

        Each batch is fetched by its own statement: a long read transaction would keep the
        write-ahead log from being folded back.
        """
        bounds = self.bounds()
        end = bounds.head if until is None else until
        if end > bounds.head:
            raise GapError(
                "log-behind",
                f"event {end} was asked for, but the log ends at {bounds.head}",
                where=str(self._path),
            )
        wanted = after + 1
        while wanted <= end:
            for stored in self._stored_from(wanted, end):
                yield _cut(self._checked(stored), wanted, end)
                wanted = stored.last + 1

    def _stored_from(self, sequence: int, end: int) -> list[_Stored]:
        """The next few segments; the log is dense (INV-8), so the first holds `sequence`."""
        with translated(self._path):
            rows = self._db.execute(
                "SELECT first_seq, last_seq, closes, checksum, payload FROM segment"
                " WHERE first_seq <= ?2 AND first_seq >= coalesce("
                "   (SELECT max(first_seq) FROM segment WHERE first_seq <= ?1), ?1)"
                " ORDER BY first_seq LIMIT ?3",
                (sequence, end, _SEGMENTS_PER_FETCH),
            ).fetchall()
        found = [_Stored(row[0], row[1], bool(row[2]), row[3], row[4]) for row in rows]
        found = [stored for stored in found if stored.last >= sequence]
        return list(self._dense(found, sequence, end))

    def _dense(self, found: list[_Stored], sequence: int, end: int) -> Iterator[_Stored]:
        """Pass segments on as long as no number is missing but in repaired holes."""
        wanted = sequence
        for stored in found:
            if stored.first > wanted:
                self._account_for(wanted, stored.first - 1)
            yield stored
            wanted = stored.last + 1
        if not found:
            self._account_for(sequence, end)

    def _account_for(self, first: int, last: int) -> None:
        """Missing numbers are fine inside repaired holes, and an error everywhere else."""
        with translated(self._path):
            holes = self._db.execute(
                "SELECT first_seq, last_seq FROM hole WHERE restored_by IS NOT NULL"
                " AND last_seq >= ? AND first_seq <= ? ORDER BY first_seq",
                (first, last),
            ).fetchall()
        for hole_first, hole_last in holes:
            if hole_first <= first:
                first = hole_last + 1
        if first > last:
            return
        tail = self.bounds().tail
        if first < tail:
            raise GapError(
                "log-truncated",
                f"event {first} was removed by retention; the log begins at {tail}",
                where=str(self._path),
            )
        raise self._corrupt(first, last, "the events are missing")

    def _checked(self, stored: _Stored) -> EventBatch:
        try:
            return stored.batch()
        except ValueError as exc:
            raise self._corrupt(stored.first, stored.last, str(exc)) from exc

    def _corrupt(self, first: int, last: int, reason: str) -> CorruptionError:
        return CorruptionError(
            "log-corrupt", f"events {first} to {last}: {reason}", where=str(self._path)
        )

    def segments(self, after: int, until: int) -> tuple[SegmentInfo, ...]:
        """The stored runs that hold (after, until]."""
        with translated(self._path):
            rows = self._db.execute(
                "SELECT first_seq, last_seq, length(payload), closes, max_ts_ms FROM segment"
                " WHERE last_seq > ? AND first_seq <= ?"
                " AND first_seq >= coalesce("
                "   (SELECT max(first_seq) FROM segment WHERE first_seq <= ?), 0)"
                " ORDER BY first_seq",
                (after, until, after + 1),
            ).fetchall()
        return tuple(
            SegmentInfo(first, last, size, bool(closes), newest)
            for first, last, size, closes, newest in rows
        )

    def lag(self, after: int, now_ms: int) -> Lag:
        """What waits for a consumer whose last event is `after`."""
        head = self.bounds().head
        with translated(self._path):
            return lag_after(self._db, after, head, now_ms)

    def schema(self, schema_id: int) -> TableSchema:
        """The version with this id."""
        if schema_id not in self._schemas:
            self._schemas[schema_id] = self._load_schema(schema_id)
        return self._schemas[schema_id]

    def _load_schema(self, schema_id: int) -> TableSchema:
        with translated(self._path):
            row = self._db.execute(
                "SELECT definition FROM schema_version WHERE schema_id = ?", (schema_id,)
            ).fetchone()
        if row is None:
            raise CorruptionError(
                "log-corrupt", f"schema {schema_id} is not in the history", where=str(self._path)
            )
        schema = TableSchema.from_dict(json.loads(row[0]))
        if schema.schema_id != schema_id:
            raise CorruptionError(
                "log-corrupt", f"schema {schema_id} is not as written", where=str(self._path)
            )
        return schema

    def schemas(self) -> tuple[tuple[int, TableSchema], ...]:
        """All versions with the first sequence number of each, in order."""
        with translated(self._path):
            rows = self._db.execute(
                "SELECT first_seq, schema_id FROM schema_version ORDER BY first_seq, rowid"
            ).fetchall()
        return tuple((first, self.schema(schema_id)) for first, schema_id in rows)

    def owes(self, table: TableId, until: int) -> bool:
        """Whether rows of the table that the source has promised come after `until`."""
        with translated(self._path):
            return loads.owes(self._db, table, until)

    def loads(self) -> int:
        """How many tables have had all of their rows so far."""
        with translated(self._path):
            return loads.count_done(self._db)

    def close(self) -> None:
        """Release the file."""
        self._db.close()


def _cut(batch: EventBatch, first: int, last: int) -> EventBatch:
    if batch.first_sequence >= first and batch.last_sequence <= last:
        return batch
    start = max(first - batch.first_sequence, 0)
    stop = min(last, batch.last_sequence) - batch.first_sequence + 1
    return batch.slice(start, stop - start)


def rows_of(db: sqlite3.Connection) -> Iterator[_Stored]:
    """Every stored row in order, unchecked: for the integrity check and for salvage."""
    for row in db.execute(
        "SELECT first_seq, last_seq, closes, checksum, payload FROM segment ORDER BY first_seq"
    ):
        yield _Stored(row[0], row[1], bool(row[2]), row[3], row[4])
