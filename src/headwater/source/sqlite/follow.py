"""Following the schema: noticing that tables moved, and bringing capture after them."""

from __future__ import annotations

import sqlite3

from headwater.errors import ConfigError
from headwater.failpoint import failpoint
from headwater.source.sqlite.catalog import Catalog
from headwater.source.sqlite.config import SqliteSourceConfig
from headwater.source.sqlite.connect import snapshot
from headwater.source.sqlite.install import install


class Follower:
    """Keeps a catalog that matches the triggers, as long as they can be made to match.

    SQLite counts schema changes in a cookie; a cookie of -1 has never been compared.
    """

    def __init__(self, connection: sqlite3.Connection, config: SqliteSourceConfig) -> None:
        """Called within a read transaction."""
        self._db = connection
        self._config = config
        self._read()

    def _read(self) -> None:
        self.catalog = Catalog.read(self._db, self._config)
        # An application may alter a table between the install and this look; the next must see.
        self._cookie = -1 if self._stale() else self.catalog.database.schema_cookie

    def _stale(self) -> bool:
        catalog = self.catalog
        return bool(catalog.drifted() or catalog.uncaptured(self._db, self._config))

    def moved(self) -> bool:
        """Whether the schema is another one than at the last look; the catalog is new then."""
        (cookie,) = self._db.execute("PRAGMA main.schema_version").fetchone()
        if cookie == self._cookie:
            return False
        self._read()
        return True

    @property
    def must_renew(self) -> bool:
        """Whether the triggers no longer match the tables."""
        return self._cookie == -1

    def renew(self) -> None:
        """Make new triggers where tables changed or came. Takes a write transaction of its own."""
        if not self._config.install:
            found = ", ".join(f"{each.table}: {each.kind.value}" for each in self.catalog.drifted())
            raise ConfigError(
                "sqlite-drift",
                f"the schema moved away from the installed capture: {found or 'new tables'}",
                where=str(self._config.path),
            )
        install(self._db, self.catalog.uncaptured(self._db, self._config))
        failpoint("source.sqlite.renewed")
        with snapshot(self._db):
            self._read()
