"""Changes that the server passes over because their publication did not exist when they were made.

Up to PostgreSQL 17 decoding them is an error. From 18 on the server only warns, and goes on with
the changes after: whoever does not heed the warning has a gap and does not know it (INV-9). So the
warning becomes the error that it was.
"""

from __future__ import annotations

import psycopg
from psycopg import errors, pq


def heed(notice: psycopg.Error) -> None:
    """Raise if the server says that it passed the publication over."""
    if isinstance(notice, errors.ObjectNotInPrerequisiteState):
        raise errors.UndefinedObject(str(notice))


class Listener:
    """Hears what the server says on a connection beside its answers."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self._heard: psycopg.Error | None = None
        pgconn.notice_handler = self._hear

    def _hear(self, notice: pq.abc.PGresult) -> None:
        # Called from inside libpq, where raising leads nowhere.
        error = errors.error_from_result(notice)
        if isinstance(error, errors.ObjectNotInPrerequisiteState):
            self._heard = error

    def check(self) -> None:
        """Raise if it has said so since."""
        if self._heard is not None:
            heed(self._heard)
