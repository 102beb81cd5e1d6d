"""The writer: events, position and schemas in one transaction, by one process at a time."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import pyarrow.compute as pc

from headwater.contract import SourceBatch, SourceIdentity
from headwater.errors import ConfigError, CorruptionError, FencedError
from headwater.event import EventBatch, Position, TableSchema
from headwater.failpoint import failpoint
from headwater.log import payload
from headwater.log.connection import add_missing, connect, transaction, translated
from headwater.log.lease import Lease
from headwater.log.loads import note_loads


class SqliteLogWriter:
    """Appends to a log. Implements contract.LogWriter; holds INV-5, INV-6, INV-7 and INV-8."""

    def __init__(self, path: Path, source: SourceIdentity) -> None:
        self._path = path
        self._lease = Lease(path)
        self._lease.acquire()
        try:
            self._db = connect(path)
            with translated(path):
                self._epoch = self._take_over(source)
        except BaseException:
            self._lease.release()
            raise

    def _take_over(self, source: SourceIdentity) -> int:
        """Fence every older writer and cut off what it left unfinished (INV-7)."""
        with transaction(self._db):
            self._claim(source)
            add_missing(self._db)
            epoch, head, tail_position = self._db.execute(
                "UPDATE state SET epoch = epoch + 1 RETURNING epoch, head, position"
            ).fetchone()
            self._db.execute("DELETE FROM segment WHERE first_seq > ?", (head,))
            failpoint("log.open.before_commit")
        failpoint("log.open.after_commit")
        self._head: int = head
        self._stored: int = head
        self._position = None if tail_position is None else Position.decode(tail_position)
        known = self._db.execute("SELECT schema_id FROM schema_version").fetchall()
        self._known_schemas = {int(schema_id) for (schema_id,) in known}
        return int(epoch)

    def _claim(self, source: SourceIdentity) -> None:
        mine = f"{source.name}:{source.uid}"
        self._db.execute("INSERT OR IGNORE INTO meta VALUES ('source', ?)", (mine,))
        (owner,) = self._db.execute("SELECT value FROM meta WHERE key = 'source'").fetchone()
        if owner != mine:
            raise ConfigError(
                "log-other-source",
                f"the log belongs to source {owner}, not to {mine}",
                where=str(self._path),
            )

    @property
    def position(self) -> Position | None:
        """The durable source position."""
        return self._position

    @property
    def head(self) -> int:
        """The last visible sequence number."""
        return self._head

    def append(self, batch: SourceBatch) -> int:
        """Make the batch durable as one; see contract.LogWriter."""
        failpoint("log.append.before_begin")
        events = batch.events.with_sequence(self._stored + 1)
        visible = events.closes_transaction
        stored = self._stored + len(events)
        fresh = [each for each in batch.schemas if each.schema_id not in self._known_schemas]
        with translated(self._path), transaction(self._db):
            self._insert_schemas(fresh, events)
            if len(events):
                self._insert_segment(events)
            failpoint("log.append.segment_written")
            if visible:
                self._advance(stored, batch.position)
                note_loads(self._db, batch, self._head + 1, stored)
            else:
                self._stay()
            failpoint("log.append.before_commit")
        failpoint("log.append.after_commit" if visible else "log.piece.after_commit")
        self._stored = stored
        self._known_schemas.update(each.schema_id for each in fresh)
        if visible:
            self._head, self._position = stored, batch.position
        return self._head

    def _insert_segment(self, events: EventBatch) -> None:
        first, last = events.first_sequence, events.last_sequence
        closes = events.closes_transaction
        data = payload.encode(events)
        digest = payload.checksum(first, last, data, closes_transaction=closes)
        newest = int(pc.max(events.column("ts_ms")).as_py())
        self._db.execute(
            "INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?)",
            (first, last, closes, newest, digest, data),
        )

    def _insert_schemas(self, fresh: list[TableSchema], events: EventBatch) -> None:
        """Each with its first event: several versions of a table may come in one batch."""
        used = events.column("schema_id")
        for schema in fresh:
            place = max(int(pc.index(used, value=schema.schema_id).as_py()), 0)
            self._db.execute(
                "INSERT INTO schema_version VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (schema.schema_id, self._stored + 1 + place, schema.encode()),
            )
            (kept,) = self._db.execute(
                "SELECT definition FROM schema_version WHERE schema_id = ?", (schema.schema_id,)
            ).fetchone()
            if kept != schema.encode():
                raise CorruptionError(
                    "log-corrupt", f"schema {schema.schema_id} of {schema.table} is not as written"
                )

    def _advance(self, head: int, position: Position) -> None:
        now_ms = time.time_ns() // 1_000_000
        self._fenced(
            self._db.execute(
                "UPDATE state SET head = ?, position = ?, appended_at_ms = ? WHERE epoch = ?",
                (head, position.encode(), now_ms, self._epoch),
            )
        )

    def _stay(self) -> None:
        self._fenced(
            self._db.execute("UPDATE state SET head = head WHERE epoch = ?", (self._epoch,))
        )

    def _fenced(self, update: sqlite3.Cursor) -> None:
        if update.rowcount != 1:
            raise FencedError(
                "log-fenced", "a newer writer has taken the log over", where=str(self._path)
            )

    def close(self) -> None:
        """Give the log free. Pieces of an unfinished transaction are cut off by the next writer."""
        self._db.close()
        self._lease.release()
