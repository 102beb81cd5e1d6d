"""Looking into a SQLite database that belongs to someone else: nothing is created or kept open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from headwater.app.url import SourceUrl
from headwater.errors import ConfigError, MachineError
from headwater.event import TableId

BUSY_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class TableFacts:
    """A table as `init` and `doctor` show it. `refusal` says why it cannot be captured."""

    table: TableId
    columns: int
    key: tuple[str, ...]
    refusal: str | None
    column_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """The user's tables, which of them are captured, and what moved since."""

    tables: tuple[TableFacts, ...]
    captured: tuple[str, ...] | None
    drift: tuple[str, ...]

    @property
    def capturable(self) -> tuple[TableId, ...]:
        """The tables that can be captured."""
        return tuple(table.table for table in self.tables if table.refusal is None)


def look(path: Path) -> DatabaseFacts:
    """The facts of a database, in one read transaction."""
    from headwater.source.sqlite.drift import DriftKind, drift
    from headwater.source.sqlite.generation import read_installed
    from headwater.source.sqlite.install import column_limit
    from headwater.source.sqlite.introspect import PREFIX, introspect
    from headwater.source.sqlite.triggers import refusal

    with opened(path) as db:
        db.execute("BEGIN")
        database = introspect(db)
        installed = read_installed(db)
        limit = column_limit(db)
        found = () if installed is None else drift(database, installed)
        db.execute("ROLLBACK")
    own = [
        table
        for table in database.tables
        if not table.name.startswith((PREFIX, "sqlite_")) and table.kind != "shadow"
    ]
    return DatabaseFacts(
        tables=tuple(
            TableFacts(
                TableId(None, each.name),
                len(each.columns),
                each.key,
                refusal(each, limit),
                tuple(column.name for column in each.columns),
            )
            for each in own
        ),
        captured=None if installed is None else tuple(each.table for each in found),
        drift=tuple(
            f"{each.table}: {each.kind.value}{f' ({each.detail})' if each.detail else ''}"
            for each in found
            if each.kind is not DriftKind.UP_TO_DATE
        ),
    )


def sqlite_path(url: SourceUrl) -> Path:
    """The file of a SQLite URL; another scheme is a coded error."""
    if url.path is None:
        raise ConfigError(
            "source-unknown",
            "this needs a SQLite database",
            where=str(url),
            hint="write sqlite:///path/to/file.db",
        )
    return url.path


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a database that must be there; SQLite's errors become coded ones."""
    from headwater.source.sqlite.connect import connect, translated

    if not path.is_file():
        raise MachineError(
            "source-missing",
            f"there is no database at {path}",
            where=str(path),
            hint=_nearby(path),
        )
    with translated(path), closing(connect(path, BUSY_TIMEOUT_S)) as db:
        yield db


def _nearby(path: Path) -> str:
    """Databases beside the missing one: the usual slip is the directory or the ending."""
    if not path.parent.is_dir():
        return f"the directory {path.parent} does not exist either"
    near = [
        each.name
        for each in sorted(path.parent.iterdir())
        if each.suffix in {".db", ".sqlite", ".sqlite3"}
    ]
    return f"there are: {', '.join(near[:5])}" if near else ""
