"""Pruning: confirmed changes leave the user's database, gently."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress

from headwater.failpoint import failpoint
from headwater.source.sqlite.changes import newest
from headwater.source.sqlite.layout import CHANGE

_EVERY_S = 1.0
_AT_LEAST = 1_000
_STEP = 10_000


class Pruner:
    """Deletes confirmed changes in small steps: each is a write to somebody else's database.

    The newest change always stays, because SQLite numbers the next one after it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._confirmed = 0
        self._pruned = 0
        self._last_s = time.monotonic()

    def confirm(self, change_id: int) -> None:
        """Remember how far the log is, and prune when it is worth a write."""
        self._confirmed = max(self._confirmed, change_id)
        waited = time.monotonic() - self._last_s
        if waited >= _EVERY_S or self._confirmed - self._pruned >= _AT_LEAST:
            self._prune()

    def finish(self) -> None:
        """Prune what is left; a busy database keeps it for the next start."""
        if self._confirmed > self._pruned:
            with suppress(sqlite3.Error):
                self._prune()

    def _prune(self) -> None:
        self._last_s = time.monotonic()
        last = min(self._confirmed, newest(self._connection) - 1)
        failpoint("source.sqlite.before_prune")
        try:
            for start in range(self._pruned, last, _STEP):
                end = min(start + _STEP, last)
                self._connection.execute(f"DELETE FROM {CHANGE} WHERE change_id <= ?", (end,))
                self._pruned = end
        except sqlite3.OperationalError as exc:
            # Nothing is lost by keeping changes a little longer, so a writer goes first.
            if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        failpoint("source.sqlite.after_prune")
