"""Installing capture in a database, removing it, or showing what would be done."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.app.database import look, opened
from headwater.app.tables import choose_tables


def install_capture(path: Path, patterns: tuple[str, ...]) -> dict[str, Any]:
    """Capture the tables that match; repeating it changes nothing."""
    from headwater.source.sqlite.install import install

    tables = _chosen(path, patterns)
    with opened(path) as db:
        outcome = install(db, tables)
    captured = sorted(generation.table for generation in outcome.installed.active)
    return {"database": str(path), "captured": captured, "renewed": list(outcome.renewed)}


def remove_capture(path: Path) -> dict[str, Any]:
    """Remove every trigger and table of ours; changes that were not read yet go with them."""
    from headwater.source.sqlite.install import uninstall

    before = look(path).captured
    with opened(path) as db:
        uninstall(db)
    return {"database": str(path), "removed": sorted(before or ())}


def installation_sql(path: Path, patterns: tuple[str, ...]) -> list[str]:
    """The statements that an installation would execute, found by doing it to an empty copy."""
    from headwater.source.sqlite.install import install

    tables = _chosen(path, patterns)
    with opened(path) as db, closing(_empty_copy(db)) as copy:
        statements: list[str] = []
        copy.set_trace_callback(statements.append)
        install(copy, tables)
        copy.set_trace_callback(None)
    return [text for text in statements if text.startswith(("CREATE ", "ALTER ", "DROP "))]


def _chosen(path: Path, patterns: tuple[str, ...]) -> tuple[str, ...]:
    chosen = choose_tables(patterns, (), look(path).capturable, str(path))
    return tuple(table.name for table in chosen)


def _empty_copy(db: sqlite3.Connection) -> sqlite3.Connection:
    """The schema without the rows, except for the few that say what is installed."""
    from headwater.source.sqlite.layout import CAPTURE, META

    copy = sqlite3.connect(":memory:", isolation_level=None)
    rows = db.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%'"
        " ESCAPE '\\' ORDER BY type = 'trigger', type = 'view', type = 'index', rowid"
    ).fetchall()
    for _, sql in rows:
        copy.execute(sql)
    for name in {CAPTURE, META} & {row[0] for row in rows}:
        for values in db.execute(f"SELECT * FROM {name}"):
            marks = ", ".join("?" * len(values))
            copy.execute(f"INSERT INTO {name} VALUES ({marks})", values)
    return copy
