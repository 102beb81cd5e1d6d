"""The shapes of tables that a log knows, version by version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwater.app.registry import open_log
from headwater.errors import ConfigError
from headwater.event import TableSchema


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One version of a table; versions are counted from 1 in the order in which they came."""

    number: int
    count: int
    first_sequence: int
    schema: TableSchema

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": str(self.schema.table),
            "version": self.number,
            "versions": self.count,
            "schema_id": self.schema.schema_id,
            "first_sequence": self.first_sequence,
            **self.schema.to_dict(),
        }


def table_versions(path: Path, glob: str = "*", *, at: int | None = None) -> list[TableVersion]:
    """The newest version of each table that the glob means, or version `at`; sorted by name."""
    tables: dict[str, list[tuple[int, TableSchema]]] = {}
    for first, schema in _history(path):
        if schema.table.matches((glob,)):
            tables.setdefault(str(schema.table), []).append((first, schema))
    if not tables:
        raise ConfigError(
            "table-unknown",
            f"the log knows no table {glob!r}",
            where=str(path),
            hint=f"list them with: headwater schema show {path}",
        )
    found = [_version(versions, at) for _, versions in sorted(tables.items())]
    chosen = [each for each in found if each is not None]
    if not chosen:
        newest = max(map(len, tables.values()))
        raise ConfigError(
            "schema-version-unknown",
            f"no table {glob!r} has a version {at}; the newest is {newest}",
            where=str(path),
        )
    return chosen


def _version(versions: list[tuple[int, TableSchema]], at: int | None) -> TableVersion | None:
    number = len(versions) if at is None else at
    if not 1 <= number <= len(versions):
        return None
    first, schema = versions[number - 1]
    return TableVersion(number, len(versions), first, schema)


def _history(path: Path) -> tuple[tuple[int, TableSchema], ...]:
    reader = open_log(path).reader()
    try:
        return reader.schemas()
    finally:
        reader.close()
