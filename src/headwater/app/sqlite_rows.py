"""The rows of a SQLite source at one moment, and which event of the log that moment is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.compute as pc

from headwater.app.database import opened
from headwater.contract import LogReader
from headwater.errors import ConfigError
from headwater.event import Position, TableId, TableSchema
from headwater.event.verbatim import Image
from headwater.source.sqlite.generation import read_installed
from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.image import image_sql
from headwater.source.sqlite.install import newest_change_id
from headwater.source.sqlite.introspect import introspect
from headwater.source.sqlite.numbers import column_numbers
from headwater.source.sqlite.place import Place
from headwater.source.sqlite.types import table_schema

LogPosition = Callable[[], str | None]


class SqliteRows:
    """Implements verifier.SourceRows within one read transaction."""

    def __init__(self, db: sqlite3.Connection, where: str, log_position: LogPosition) -> None:
        self._db = db
        self._log_position = log_position
        installed = read_installed(db)
        if installed is None:
            raise ConfigError("sqlite-not-installed", "capture is not installed", where=where)
        database = introspect(db)
        self._change_id = newest_change_id(db)
        numbers = column_numbers(installed.generations)
        self.schemas: dict[str, TableSchema] = {
            each.table: table_schema(each, numbers[each.capture_no], database)
            for each in installed.active
        }

    def images(self, table: TableId) -> Iterator[Image]:
        """Rows through the expression that capture uses, so that every value has one form."""
        schema = self.schemas.get(table.name)
        if schema is None:
            return
        typed = [(column.name, column.type) for column in schema.columns]
        references = [f"held.{quote(column.name)}" for column in schema.columns]
        # Careful costs a call per text and survives text that is not UTF-8.
        image = image_sql(typed, references, careful=True)
        for (text,) in self._db.execute(
            f"SELECT CAST({image} AS BLOB) FROM main.{quote(table.name)} AS held"
        ):
            yield text

    def estimate(self, table: TableId) -> int | None:
        """Counted: SQLite does that without looking into rows."""
        if table.name not in self.schemas:
            return None
        (count,) = self._db.execute(f"SELECT count(*) FROM main.{quote(table.name)}").fetchone()
        return int(count)

    def sequence(self, reader: LogReader, after: int) -> int | None:
        """The event before the first one of a later change; the head if there is none.

        Offsets of changes are their numbers; snapshot rows and notices have other offsets and
        belong to the changes around them.
        """
        position = self._log_position()
        if position is None:
            return None
        place = Place.decode(Position.decode(position))
        if place.change_id < self._change_id or place.pending:
            return None
        head = reader.bounds().head
        for batch in reader.read(after, head):
            offsets = batch.column("offset")
            changes = pc.if_else(pc.match_substring_regex(offsets, r"^\d+$"), offsets, "0")
            later = pc.index(pc.greater(pc.cast(changes, "int64"), self._change_id), True).as_py()
            if later >= 0:
                return batch.first_sequence + int(later) - 1
        return head


@contextmanager
def sqlite_rows(path: Path, log_position: LogPosition) -> Iterator[SqliteRows]:
    """Open the database and hold one read transaction while its rows are read."""
    with opened(path) as db:
        db.execute("BEGIN")
        yield SqliteRows(db, str(path), log_position)
