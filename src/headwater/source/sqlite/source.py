"""SqliteSource: the loop's view of a SQLite database."""

from __future__ import annotations

import sqlite3
import time

from headwater.contract import Command, Owed, SourceBatch, SourceCapabilities, SourceIdentity
from headwater.errors import ConfigError, StateError
from headwater.event import Position
from headwater.failpoint import failpoint
from headwater.source.sqlite.catalog import require_tables
from headwater.source.sqlite.config import SqliteSourceConfig
from headwater.source.sqlite.connect import connect, snapshot, translated
from headwater.source.sqlite.events import SOURCE_NAME
from headwater.source.sqlite.generation import read_installed
from headwater.source.sqlite.install import install
from headwater.source.sqlite.introspect import introspect
from headwater.source.sqlite.place import Place
from headwater.source.sqlite.prune import Pruner
from headwater.source.sqlite.session import Session

_RENEWALS_PER_READ = 3


class SqliteSource:
    """Captures a SQLite database that any process writes. Implements contract.Source.

    Delivery: every committed change of the captured tables, in commit order, at least once; the
    log's atomic append makes it exactly once. SQLite tells no trigger where a transaction ends, so
    what became visible between two looks is one group: a transaction is never split, and several
    small ones may share a group.
    """

    def __init__(self, config: SqliteSourceConfig) -> None:
        self._config = config
        self._connection: sqlite3.Connection | None = None
        self._identity: SourceIdentity | None = None
        self._session: Session | None = None

    @property
    def capabilities(self) -> SourceCapabilities:
        """What SQLite's triggers can see."""
        return SourceCapabilities(
            snapshot=True,
            resumable_snapshot=True,
            before_image=True,
            truncate=False,
            schema_changes=True,
            context=True,
            exact_transactions=False,
            reread=True,
        )

    @property
    def identity(self) -> SourceIdentity:
        """The identity that was given to the database when capture was installed in it."""
        if self._identity is None:
            connection = connect(self._config.path, self._config.busy_timeout_s)
            try:
                with translated(self._config.path):
                    self._identity = self._prepare(connection)
            finally:
                connection.close()
        return self._identity

    def _prepare(self, connection: sqlite3.Connection) -> SourceIdentity:
        wanted = require_tables(connection, introspect(connection), self._config)
        if self._config.install:
            install(connection, wanted)
        installed = read_installed(connection)
        if installed is None:
            raise ConfigError(
                "sqlite-not-installed", "capture is not installed", where=str(self._config.path)
            )
        return SourceIdentity(SOURCE_NAME, installed.source_id)

    def open(self, resume: Position | None) -> None:
        """Stand at `resume`; a gap since then is met with the chosen policy (INV-9)."""
        self.close()
        config, uid = self._config, self.identity.uid
        self._connection = connect(config.path, config.busy_timeout_s)
        self._pruner = Pruner(self._connection)
        with translated(config.path), snapshot(self._connection):
            self._session = Session(self._connection, config, uid, resume)
        failpoint("source.sqlite.opened")

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        """The next changes or snapshot rows; waits for them until the time is over."""
        session = self._session
        if session is None:
            raise StateError("lifecycle-transition", "the source is not open")
        deadline = time.monotonic() + timeout_s
        renewals = 0
        while True:
            if session.queue:
                return session.queue.popleft()
            with translated(self._config.path):
                renewed = session.look(max_events)
            renewals += renewed
            # A schema that capture cannot catch up with must not keep this loop spinning.
            look_again = renewed and renewals <= _RENEWALS_PER_READ
            remaining = deadline - time.monotonic()
            if not session.queue and not look_again:
                if remaining <= 0:
                    return None
                time.sleep(min(self._config.poll_interval_s, remaining))

    def take(self, command: Command) -> SourceBatch | None:
        """Take a command: the rows of chosen keys, and nothing else."""
        if self._session is None:
            return None
        with translated(self._config.path):
            return self._session.take(command)

    def owed(self) -> tuple[Owed, ...]:
        """The keys that were asked for and are not read yet."""
        return () if self._session is None else self._session.owed()

    def confirm(self, position: Position) -> None:
        """Forget changes that the log holds (INV-2)."""
        with translated(self._config.path):
            self._pruner.confirm(Place.decode(position).change_id)

    def close(self) -> None:
        """Release the connection; what was read and not confirmed is read again."""
        if self._connection is not None:
            self._pruner.finish()
            self._connection.close()
            self._connection = None
        self._session = None
