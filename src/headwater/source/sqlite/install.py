"""Installing, renewing and removing capture in a user's database.

Each is one IMMEDIATE transaction: it happens whole or not at all, and no writer can slip a change
in between the old triggers and the new ones.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headwater.errors import ConfigError, TransientError
from headwater.failpoint import failpoint
from headwater.source.sqlite.drift import Drift, DriftKind, drift, worst
from headwater.source.sqlite.generation import (
    Generation,
    Installed,
    Trust,
    encode_columns,
    read_installed,
)
from headwater.source.sqlite.identifiers import fold, quote
from headwater.source.sqlite.introspect import PREFIX, Database, Table, introspect
from headwater.source.sqlite.layout import (
    CANDIDATE,
    CAPTURE,
    CHANGE,
    FORMAT,
    META,
    TABLES,
    create_tables,
    widen_tables,
)
from headwater.source.sqlite.triggers import capture_triggers, refusal, trigger_name


@dataclass(frozen=True, slots=True)
class Installation:
    """What an install or upgrade found and what stands now."""

    installed: Installed
    found: tuple[Drift, ...]
    renewed: tuple[str, ...]


def install(connection: sqlite3.Connection, tables: Iterable[str] | None = None) -> Installation:
    """Capture these tables (None: every table that can be) and renew those that drifted.

    Repeating it changes nothing. Tables that are captured already and not named stay captured.
    """
    with _immediate(connection):
        database = introspect(connection)
        wanted = _chosen(connection, database, tables)
        if read_installed(connection) is None:
            _create(connection, max((len(table.columns) for table in wanted), default=1))
        result = _renew(connection, database, _require(connection), wanted)
        failpoint("source.sqlite.install.before_commit")
    return result


def upgrade(connection: sqlite3.Connection) -> Installation:
    """Renew every captured table that drifted; a table that is gone is retired."""
    with _immediate(connection):
        installed = _require(connection)
        result = _renew(connection, introspect(connection), installed, ())
        failpoint("source.sqlite.upgrade.before_commit")
    return result


def release(connection: sqlite3.Connection, table: str) -> None:
    """Stop capturing one table, for example to drop a column. Recorded changes stay readable."""
    with _immediate(connection):
        installed = _require(connection)
        database = introspect(connection)
        names = {finding.capture_no: finding.table for finding in drift(database, installed)}
        for generation in installed.active:
            if fold(names[generation.capture_no]) == fold(table):
                _retire(connection, database, generation)
                break
        else:
            raise ConfigError("sqlite-not-captured", "the table is not captured", where=table)
        _remember_schema(connection)


def uninstall(connection: sqlite3.Connection) -> None:
    """Remove everything of ours, unread changes too. The schema is then as it was before."""
    with _immediate(connection):
        database = introspect(connection)
        for trigger in database.triggers:
            if trigger.name.startswith(PREFIX):
                connection.execute(f"DROP TRIGGER main.{quote(trigger.name)}")
        for name in TABLES:
            connection.execute(f"DROP TABLE IF EXISTS main.{name}")
        failpoint("source.sqlite.uninstall.before_commit")


def capturable(connection: sqlite3.Connection, database: Database) -> tuple[Table, ...]:
    """The tables of the database that capture can take."""
    limit = column_limit(connection)
    return tuple(table for table in database.tables if refusal(table, limit) is None)


def column_limit(connection: sqlite3.Connection) -> int:
    """How many columns a table may have for this library."""
    return connection.getlimit(sqlite3.SQLITE_LIMIT_COLUMN)


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
        raise TransientError("source-busy", "the database is locked by another writer") from error
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _chosen(
    connection: sqlite3.Connection, database: Database, names: Iterable[str] | None
) -> tuple[Table, ...]:
    if names is None:
        return capturable(connection, database)
    limit = column_limit(connection)
    chosen: list[Table] = []
    for name in names:
        table = database.table(name)
        if table is None:
            raise ConfigError("sqlite-no-table", f"there is no table {name!r}", where=name)
        reason = refusal(table, limit)
        if reason is not None:
            raise ConfigError(
                "sqlite-not-capturable", f"{name!r} cannot be captured: {reason}", where=name
            )
        chosen.append(table)
    return tuple(chosen)


def _create(connection: sqlite3.Connection, width: int) -> None:
    for sql in create_tables(width):
        connection.execute(sql)
    connection.executemany(
        f"INSERT INTO main.{META} (key, value) VALUES (?, ?)",
        (("format", FORMAT), ("source_id", str(uuid.uuid4())), ("schema_cookie", "0")),
    )


def _require(connection: sqlite3.Connection) -> Installed:
    installed = read_installed(connection)
    if installed is None:
        raise ConfigError("sqlite-not-installed", "capture is not installed in this database")
    if installed.format != FORMAT:
        raise ConfigError(
            "sqlite-format",
            f"capture was installed in format {installed.format!r}; this version knows {FORMAT!r}",
        )
    return installed


def _renew(
    connection: sqlite3.Connection,
    database: Database,
    installed: Installed,
    wanted: tuple[Table, ...],
) -> Installation:
    found = drift(database, installed)
    renewed = [
        name
        for generation in installed.active
        for name in _renew_one(
            connection,
            database,
            generation,
            tuple(f for f in found if f.capture_no == generation.capture_no),
        )
    ]
    captured = {fold(finding.table) for finding in found}
    for table in wanted:
        if fold(table.name) not in captured:
            previous = _last_generation(installed, table.name)
            trust = Trust.INTACT if previous is None else Trust.BROKEN
            _begin(connection, table, previous, trust)
            renewed.append(table.name)
    if renewed or any(f.kind is not DriftKind.UP_TO_DATE for f in found):
        _remember_schema(connection)
    return Installation(_require(connection), found, tuple(renewed))


def _renew_one(
    connection: sqlite3.Connection,
    database: Database,
    generation: Generation,
    findings: tuple[Drift, ...],
) -> Iterator[str]:
    if all(finding.kind is DriftKind.UP_TO_DATE for finding in findings):
        return
    _retire(connection, database, generation)
    table = database.table(findings[0].table)
    if table is not None and refusal(table, column_limit(connection)) is None:
        _begin(connection, table, generation.capture_no, worst(findings))
        yield table.name


def _begin(connection: sqlite3.Connection, table: Table, follows: int | None, trust: Trust) -> None:
    width = _require(connection).width
    for sql in widen_tables(width, len(table.columns)):
        connection.execute(sql)
    cursor = connection.execute(
        f"INSERT INTO main.{CAPTURE} (table_name, columns, key_columns, follows, trust, "
        "created_change_id) VALUES (?, ?, ?, ?, ?, ?)",
        (
            table.name,
            encode_columns(table),
            json.dumps(table.key, ensure_ascii=False),
            follows,
            trust.value,
            newest_change_id(connection),
        ),
    )
    if cursor.lastrowid is None:
        raise AssertionError("SQLite gives every inserted row a rowid")
    for text in capture_triggers(table, cursor.lastrowid):
        connection.execute(text.sql)


def _retire(connection: sqlite3.Connection, database: Database, generation: Generation) -> None:
    number = generation.capture_no
    for trigger in database.triggers:
        if trigger.name.startswith(trigger_name(number, "")):
            connection.execute(f"DROP TRIGGER main.{quote(trigger.name)}")
    connection.execute(f"DELETE FROM main.{CANDIDATE} WHERE capture_no = ?", (number,))
    connection.execute(
        f"UPDATE main.{CAPTURE} SET retired_change_id = ? WHERE capture_no = ?",
        (newest_change_id(connection), number),
    )


def newest_change_id(connection: sqlite3.Connection) -> int:
    """The id of the newest change; 0 before the first."""
    row = connection.execute(f"SELECT ifnull(max(change_id), 0) FROM main.{CHANGE}").fetchone()
    return int(row[0])


def _last_generation(installed: Installed, table: str) -> int | None:
    numbers = [g.capture_no for g in installed.generations if fold(g.table) == fold(table)]
    return max(numbers, default=None)


def _remember_schema(connection: sqlite3.Connection) -> None:
    (cookie,) = connection.execute("PRAGMA main.schema_version").fetchone()
    connection.execute(
        f"UPDATE main.{META} SET value = ? WHERE key = 'schema_cookie'", (str(cookie),)
    )
