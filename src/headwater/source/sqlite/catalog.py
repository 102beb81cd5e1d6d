"""What the source knows of the database's schema at one moment: generations and their schemas."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Self

from headwater.errors import ConfigError
from headwater.event import TableSchema
from headwater.source.choice import unmatched
from headwater.source.sqlite.config import SqliteSourceConfig
from headwater.source.sqlite.drift import Drift, DriftKind, drift
from headwater.source.sqlite.generation import Generation, Installed, read_installed
from headwater.source.sqlite.identifiers import fold
from headwater.source.sqlite.install import capturable
from headwater.source.sqlite.introspect import Database, Table, introspect
from headwater.source.sqlite.numbers import column_numbers
from headwater.source.sqlite.types import table_schema


@dataclass(frozen=True, slots=True)
class Catalog:
    """Generations of the wanted tables by number, with the schema that reads their changes."""

    database: Database
    installed: Installed
    schemas: dict[int, TableSchema]

    @classmethod
    def read(cls, connection: sqlite3.Connection, config: SqliteSourceConfig) -> Self:
        """The catalog as of the open read transaction."""
        installed = read_installed(connection)
        if installed is None:
            raise ConfigError(
                "sqlite-not-installed", "capture is not installed", where=str(config.path)
            )
        database = introspect(connection)
        numbers = column_numbers(installed.generations)
        schemas = {
            generation.capture_no: table_schema(
                generation, numbers[generation.capture_no], database
            )
            for generation in installed.generations
            if config.wants(generation.table)
        }
        return cls(database, installed, schemas)

    @property
    def newest_generation(self) -> int:
        """The highest generation number, wanted or not."""
        return max((g.capture_no for g in self.installed.generations), default=0)

    def active(self) -> tuple[Generation, ...]:
        """The generations of wanted tables whose triggers stand."""
        return tuple(g for g in self.installed.active if g.capture_no in self.schemas)

    def generation(self, capture_no: int) -> Generation | None:
        """The generation of that number."""
        found = (g for g in self.installed.generations if g.capture_no == capture_no)
        return next(found, None)

    def next_generation(self, known: int) -> Generation | None:
        """The oldest generation that is newer than the known ones."""
        newer = [g for g in self.installed.generations if g.capture_no > known]
        return min(newer, key=lambda g: g.capture_no, default=None)

    def table(self, generation: Generation) -> Table | None:
        """The table of a generation, as the database has it now."""
        return self.database.table(generation.table)

    def drifted(self) -> tuple[Drift, ...]:
        """What has moved away from the installed triggers."""
        found = drift(self.database, self.installed)
        return tuple(each for each in found if each.kind is not DriftKind.UP_TO_DATE)

    def uncaptured(
        self, connection: sqlite3.Connection, config: SqliteSourceConfig
    ) -> tuple[str, ...]:
        """Wanted tables that no trigger watches yet."""
        captured = {fold(generation.table) for generation in self.installed.active}
        return tuple(
            name
            for name in wanted_tables(connection, self.database, config)
            if fold(name) not in captured
        )


def wanted_tables(
    connection: sqlite3.Connection, database: Database, config: SqliteSourceConfig
) -> tuple[str, ...]:
    """The capturable tables that the configuration asks for."""
    names = [table.name for table in capturable(connection, database)]
    return tuple(name for name in names if config.wants(name))


def require_tables(
    connection: sqlite3.Connection, database: Database, config: SqliteSourceConfig
) -> tuple[str, ...]:
    """The wanted tables; a pattern that finds nothing is a mistake worth a suggestion."""
    wanted = wanted_tables(connection, database, config)
    if wanted:
        return wanted
    names = [table.name for table in capturable(connection, database)]
    raise ConfigError("sqlite-no-table", unmatched(config.tables, names), where=str(config.path))
