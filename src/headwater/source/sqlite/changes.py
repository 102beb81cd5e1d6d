"""Reading the change table: ordered rows whose images SQLite has already written as JSON."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from headwater.event import Operation, TableSchema
from headwater.event.value import context_object
from headwater.source.sqlite.events import Changes
from headwater.source.sqlite.image import image_sql
from headwater.source.sqlite.layout import (
    CHANGE,
    OP_CONTEXT,
    OP_DELETE,
    OP_INSERT,
    OP_UPDATE,
    OP_VOID,
    new_columns,
    old_columns,
)

_OPERATION = (
    f"CASE op WHEN '{OP_INSERT}' THEN {int(Operation.INSERT)} "
    f"WHEN '{OP_UPDATE}' THEN {int(Operation.UPDATE)} "
    f"WHEN '{OP_DELETE}' THEN {int(Operation.DELETE)} END"
)


def newest(connection: sqlite3.Connection) -> int:
    """The newest committed change, 0 before the first."""
    (change_id,) = connection.execute(f"SELECT ifnull(max(change_id), 0) FROM {CHANGE}").fetchone()
    return int(change_id)


def oldest_after(connection: sqlite3.Connection, change_id: int) -> int | None:
    """The next change that is still there."""
    (found,) = connection.execute(
        f"SELECT min(change_id) FROM {CHANGE} WHERE change_id > ?", (change_id,)
    ).fetchone()
    return None if found is None else int(found)


def end_of_piece(connection: sqlite3.Connection, after: int, until: int, limit: int) -> int:
    """The last change of the next `limit` ones in (after, until]."""
    row = connection.execute(
        f"SELECT change_id FROM {CHANGE} WHERE change_id > ? AND change_id <= ?"
        " ORDER BY change_id LIMIT 1 OFFSET ?",
        (after, until, limit - 1),
    ).fetchone()
    return until if row is None else int(row[0])


class ChangeReader:
    """Reads ranges of changes, with the context that was in force at each."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._context: str | None = None

    def forget_context(self) -> None:
        """A group has ended, and with it every transaction: no context goes further."""
        self._context = None

    def read(
        self, after: int, until: int, schemas: Mapping[int, TableSchema], group_end: int
    ) -> Changes:
        """The changes in (after, until].

        Changes of tables that are not in `schemas` are left out. `group_end` is the last change of
        the group: a context bracket that is open there was never closed.
        """
        involved = [
            int(number)
            for (number,) in self._connection.execute(
                f"SELECT DISTINCT capture_no FROM {CHANGE} WHERE change_id > ? AND change_id <= ?"
                " AND capture_no IS NOT NULL",
                (after, until),
            )
            if number in schemas
        ]
        known = {number: schemas[number] for number in sorted(involved)}
        try:
            found = Changes.of(self._fetch(after, until, known, careful=False))
        except pa.ArrowInvalid:
            found = Changes.of(self._fetch(after, until, known, careful=True))
        return self._without_markers(found, group_end)

    def _fetch(
        self, after: int, until: int, schemas: Mapping[int, TableSchema], *, careful: bool
    ) -> list[tuple[Any, ...]]:
        wanted = ", ".join(map(str, schemas))
        before = _images(schemas, old_columns, careful=careful)
        after_image = _images(schemas, new_columns, careful=careful)
        return self._connection.execute(
            f"SELECT change_id, capture_no, {_OPERATION}, ts_ms,"
            f" CASE WHEN op IN ('{OP_UPDATE}', '{OP_DELETE}') THEN CAST({before} AS BLOB) END,"
            f" CASE WHEN op IN ('{OP_UPDATE}', '{OP_INSERT}') THEN CAST({after_image} AS BLOB) END,"
            f" CASE WHEN op = '{OP_CONTEXT}' THEN n1 END"
            f" FROM {CHANGE} WHERE change_id > ? AND change_id <= ?"
            f" AND (capture_no IN ({wanted}) AND op <> '{OP_VOID}' OR op = '{OP_CONTEXT}')"
            " ORDER BY change_id",
            (after, until),
        ).fetchall()

    def _without_markers(self, found: Changes, group_end: int) -> Changes:
        """Take the context markers out and put their text on the changes inside the bracket."""
        if self._context is None and None not in found.ops:
            return found
        kept: list[int] = []
        contexts: list[str | None] = []
        for place, op in enumerate(found.ops):
            if op is None:
                text = found.contexts[place]
                closed = text is not None and self._is_closed(found.change_ids[place], group_end)
                self._context = context_object(text) if text is not None and closed else None
            else:
                kept.append(place)
                contexts.append(self._context)
        return found.only(kept, contexts)

    def _is_closed(self, marker: int, group_end: int) -> bool:
        """Whether the bracket that opens here is closed.

        One that is not could reach into the next transaction: a wrong context is worse than none.
        """
        row = self._connection.execute(
            f"SELECT n1 FROM {CHANGE} WHERE change_id > ? AND change_id <= ?"
            f" AND op = '{OP_CONTEXT}' ORDER BY change_id LIMIT 1",
            (marker, group_end),
        ).fetchone()
        return row is not None and row[0] is None


def _images(schemas: Mapping[int, TableSchema], columns: Any, *, careful: bool) -> str:
    if not schemas:
        return "NULL"
    cases = []
    for number, schema in schemas.items():
        typed = [(column.name, column.type) for column in schema.columns]
        expression = image_sql(typed, columns(len(typed)), careful=careful)
        cases.append(f"WHEN {number} THEN {expression}")
    return f"CASE capture_no {' '.join(cases)} END"
