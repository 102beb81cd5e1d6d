"""The roll of captured tables: those that the server sends, each known to the log or owed to it.

A table gets onto the roll in one way only, after it was published. One that is merely seen in the
catalog is not captured: to take it for known would lose the rows that it gets until it is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

import psycopg

from headwater.errors import ConfigError, GapError
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.place import Known, Place
from headwater.source.postgres.server import publication
from headwater.source.postgres.server.catalog import TableFacts, read_tables
from headwater.source.postgres.shapes import mark_of, name_mark, relation_of

_LOG = logging.getLogger("headwater.source.postgres")
# Names of tables that are gone; some applications make and drop tables every day.
_REMEMBERED = 1_000


class Roll:
    """The tables from open to close. `tables` are their facts as of the last look."""

    def __init__(self, connection: psycopg.Connection, config: PostgresSourceConfig) -> None:
        self._connection = connection
        self._config = config
        self._entry = 0
        self._refused: set[int] = set()
        self.tables: tuple[TableFacts, ...] = ()

    def check(self, tables: Collection[TableFacts], place: Place) -> None:
        """See that the server has sent all along what the log knows; else that is a gap (INV-9)."""
        named = {oid for oid, known in place.known().items() if known.shape and known.name}
        known = [facts for facts in tables if facts.oid in named]
        found = publication.read_publication(self._connection, self._config.publication)
        unsent = publication.unsent(found, known, place.entry)
        if unsent:
            names = ", ".join(str(table) for table in unsent)
            raise GapError(
                "postgres-publication-gone",
                f"not published all the time since the log's position: {names}",
                where=self._config.publication,
            )

    def enter(self, tables: tuple[TableFacts, ...]) -> None:
        """Capture exactly these tables: the publication is made to hold them and no others."""
        publication.ensure(self._connection, self._config, tables)
        self._entered(tables)

    def admit(self, tables: tuple[TableFacts, ...]) -> tuple[TableFacts, ...]:
        """Capture also those of the tables that came since; returns them.

        What may not be published stays out, with a warning: an application that makes a table must
        not stop the capture of all the others.
        """
        known = {facts.oid for facts in self.tables}
        fresh = tuple(facts for facts in tables if facts.oid not in known and self._sent(facts))
        if fresh:
            known.update(facts.oid for facts in fresh)
            self._entered(tuple(facts for facts in tables if facts.oid in known))
        return fresh

    def _sent(self, facts: TableFacts) -> bool:
        try:
            publication.add(self._connection, self._config, facts)
        except ConfigError as error:
            if facts.oid not in self._refused:
                table = str(facts.table)
                _LOG.warning("a new table stays out", extra={"table": table, "code": error.code})
            self._refused.add(facts.oid)
            return False
        return True

    def _entered(self, tables: tuple[TableFacts, ...]) -> None:
        found = publication.read_publication(self._connection, self._config.publication)
        self._entry = 0 if found is None else max(found.entries.values(), default=0)
        self.tables = tables

    def look(self) -> tuple[TableFacts, ...]:
        """All wanted tables as they are now. Those that came since are not yet on the roll."""
        tables = read_tables(self._connection, self._config)
        known = {facts.oid for facts in self.tables}
        self.tables = tuple(facts for facts in tables if facts.oid in known)
        return tables

    def unknown(self, place: Place) -> tuple[TableFacts, ...]:
        """Tables of which the log does not have all rows under their name."""
        known = place.known()
        return tuple(
            facts
            for facts in self.tables
            if known.get(facts.oid, Known()).name != name_mark(facts.table)
            or not known[facts.oid].shape
        )

    def marked(self, place: Place) -> Place:
        """The place that knows every table on the roll.

        The shape that the log knows stays: the catalog may be ahead of the stream. The name of a
        table that is gone is kept until another one has it, which then begins anew.
        """
        known = place.known()
        here = {
            facts.oid: Known(
                known.get(facts.oid, Known()).shape or mark_of(relation_of(facts)),
                name_mark(facts.table),
            )
            for facts in self.tables
        }
        names = {each.name for each in here.values()}
        gone = {
            oid: Known(name=each.name)
            for oid, each in sorted(known.items())
            if oid not in here and each.name and each.name not in names
        }
        newest = dict(list(gone.items())[-_REMEMBERED:])
        return replace(place.knowing(newest | here), entry=self._entry)
