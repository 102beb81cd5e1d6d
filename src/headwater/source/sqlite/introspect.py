"""What a database consists of, as values: the input of everything pure in this room."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from headwater.source.sqlite.identifiers import fold
from headwater.source.sqlite.tokens import index_text, trigger_is_after

PREFIX = "_headwater_"
_PASSIVE = ("NO ACTION", "RESTRICT")
_ROWID_NAMES = ("rowid", "_rowid_", "oid")


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as declared. `key_position` counts from 1 within the primary key; 0 is outside."""

    name: str
    declared: str
    not_null: bool
    default: str | None
    key_position: int
    generated: bool


@dataclass(frozen=True, slots=True)
class IndexTerm:
    """One term of a unique index: a column, or the text of an expression."""

    column: str | None
    expression: str | None
    collation: str


@dataclass(frozen=True, slots=True)
class UniqueIndex:
    """A unique constraint in force, whether it was declared in the table or as an index."""

    name: str
    terms: tuple[IndexTerm, ...]
    where: str | None
    primary: bool

    @property
    def plain(self) -> bool:
        """Whether its columns alone decide a conflict (neither partial nor over expressions)."""
        return self.where is None and all(term.column is not None for term in self.terms)


@dataclass(frozen=True, slots=True)
class ReferencedTable:
    """A foreign key as SQLite reports it. Empty `to` columns mean the parent's primary key."""

    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    on_delete: str
    on_update: str


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger. SQLite fires the one with the highest `order` first."""

    name: str
    table: str
    sql: str
    order: int
    after: bool


@dataclass(frozen=True, slots=True)
class Table:
    """A table or what looks like one. `kind` is SQLite's: table, view, virtual or shadow.

    `key_cascades`: some foreign key acts ON UPDATE of this table's key.
    `disturbed`: foreign-key actions or the application's own triggers may change its rows while a
    statement on it is under way.
    """

    name: str
    kind: str
    columns: tuple[TableColumn, ...] = ()
    unique: tuple[UniqueIndex, ...] = ()
    foreign_keys: tuple[ReferencedTable, ...] = ()
    without_rowid: bool = False
    strict: bool = False
    key_cascades: bool = False
    disturbed: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The declared primary key in its order; empty for a table without one."""
        keyed = sorted((c.key_position, c.name) for c in self.columns if c.key_position)
        return tuple(name for _, name in keyed)

    @property
    def rowid_name(self) -> str | None:
        """A name under which the rowid can be written in SQL, or None if there is none.

        A single-column primary key that needed no index of its own is the rowid itself.
        """
        if self.without_rowid:
            return None
        if len(self.key) == 1 and not any(index.primary for index in self.unique):
            return self.key[0]
        taken = {fold(column.name) for column in self.columns}
        return next((name for name in _ROWID_NAMES if name not in taken), None)

    def column(self, name: str) -> TableColumn | None:
        """The column of that name, or None."""
        wanted = fold(name)
        return next((column for column in self.columns if fold(column.name) == wanted), None)


@dataclass(frozen=True, slots=True)
class Database:
    """Every table and trigger of the main schema, read in one snapshot."""

    tables: tuple[Table, ...]
    triggers: tuple[Trigger, ...]
    schema_cookie: int

    def table(self, name: str) -> Table | None:
        """The table of that name, or None."""
        wanted = fold(name)
        return next((table for table in self.tables if fold(table.name) == wanted), None)


def introspect(connection: sqlite3.Connection) -> Database:
    """Read the main schema. Needs SQLite 3.37 on our side; writers may be older."""
    listed = _rows(
        connection,
        "SELECT name, type, wr, strict FROM pragma_table_list "
        "WHERE schema = 'main' AND name NOT IN ('sqlite_schema', 'sqlite_master') ORDER BY name",
    )
    triggers = _rows(
        connection,
        "SELECT name, tbl_name, sql, rowid FROM main.sqlite_master "
        "WHERE type = 'trigger' ORDER BY rowid",
    )
    (cookie,) = _rows(connection, "PRAGMA main.schema_version")[0]
    tables = [
        _table(connection, name, kind, without_rowid=bool(wr), strict=bool(strict))
        for name, kind, wr, strict in listed
    ]
    updating, acting = _parents_of_actions(tables)
    acting |= {fold(table) for name, table, _, _ in triggers if not name.startswith(PREFIX)}
    return Database(
        tables=tuple(
            replace(
                table,
                key_cascades=fold(table.name) in updating,
                disturbed=fold(table.name) in acting,
            )
            for table in tables
        ),
        triggers=tuple(
            Trigger(name, table, sql, order, trigger_is_after(sql))
            for name, table, sql, order in triggers
        ),
        schema_cookie=cookie,
    )


def _table(
    connection: sqlite3.Connection, name: str, kind: str, *, without_rowid: bool, strict: bool
) -> Table:
    if kind != "table" or name.startswith(("sqlite_", PREFIX)):
        return Table(name, kind)
    return Table(
        name=name,
        kind=kind,
        columns=_columns(connection, name),
        unique=_unique(connection, name),
        foreign_keys=_foreign_keys(connection, name),
        without_rowid=without_rowid,
        strict=strict,
    )


def _columns(connection: sqlite3.Connection, table: str) -> tuple[TableColumn, ...]:
    rows = _rows(
        connection,
        'SELECT name, type, "notnull", dflt_value, pk, hidden '
        "FROM pragma_table_xinfo(?, 'main') ORDER BY cid",
        table,
    )
    return tuple(
        TableColumn(name, declared, bool(not_null), default, key, hidden in (2, 3))
        for name, declared, not_null, default, key, hidden in rows
    )


def _unique(connection: sqlite3.Connection, table: str) -> tuple[UniqueIndex, ...]:
    rows = _rows(
        connection,
        "SELECT l.name, l.origin, m.sql FROM pragma_index_list(?, 'main') AS l "
        "LEFT JOIN main.sqlite_master AS m ON m.type = 'index' AND m.name = l.name "
        'WHERE l."unique" ORDER BY l.name',
        table,
    )
    return tuple(_unique_index(connection, name, origin, sql) for name, origin, sql in rows)


def _unique_index(
    connection: sqlite3.Connection, name: str, origin: str, sql: str | None
) -> UniqueIndex:
    text = index_text(sql) if sql else None
    rows = _rows(
        connection,
        "SELECT seqno, cid, name, coll FROM pragma_index_xinfo(?, 'main') WHERE key ORDER BY seqno",
        name,
    )
    terms = tuple(
        IndexTerm(column, text.terms[seqno] if text and cid == -2 else None, collation)
        for seqno, cid, column, collation in rows
    )
    return UniqueIndex(name, terms, text.where if text else None, origin == "pk")


def _foreign_keys(connection: sqlite3.Connection, table: str) -> tuple[ReferencedTable, ...]:
    rows = _rows(
        connection,
        'SELECT id, "table", "from", "to", on_delete, on_update '
        "FROM pragma_foreign_key_list(?, 'main') ORDER BY id DESC, seq",
        table,
    )
    grouped: dict[int, list[tuple[str, str, str | None, str, str]]] = {}
    for number, parent, column, to, on_delete, on_update in rows:
        grouped.setdefault(number, []).append((parent, column, to, on_delete, on_update))
    return tuple(
        ReferencedTable(
            columns=tuple(part[1] for part in parts),
            parent=parts[0][0],
            parent_columns=tuple(part[2] for part in parts if part[2] is not None),
            on_delete=parts[0][3],
            on_update=parts[0][4],
        )
        for parts in grouped.values()
    )


def _parents_of_actions(tables: list[Table]) -> tuple[set[str], set[str]]:
    """Parents whose key updates are acted on; and both ends of every key that acts at all."""
    updating: set[str] = set()
    acting: set[str] = set()
    for table in tables:
        for key in table.foreign_keys:
            if key.on_update not in _PASSIVE:
                updating.add(fold(key.parent))
            if key.on_update not in _PASSIVE or key.on_delete not in _PASSIVE:
                acting |= {fold(key.parent), fold(table.name)}
    return updating, acting


def _rows(connection: sqlite3.Connection, sql: str, *parameters: str) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, parameters).fetchall()
