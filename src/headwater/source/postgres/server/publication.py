"""The publication: which tables the server sends, and whether that is what was chosen.

A table without a replica identity is never published: the server would refuse the application's
updates and deletes of it. A publication that leaves out rows, columns or kinds of change is drift,
because the stream would have holes that nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import errors

from headwater.errors import ConfigError, GapError
from headwater.event import TableId
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.names import quote, quote_table
from headwater.source.postgres.server.catalog import TableFacts
from headwater.source.postgres.server.connect import translated

_OPTIONS = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
_COLUMN_LISTS_SINCE = 150000

_PUBLICATION = """
SELECT puballtables, pubinsert AND pubupdate AND pubdelete AND pubtruncate AND pubviaroot
FROM pg_publication WHERE pubname = %s
"""
_NAMED = """
SELECT n.nspname::text, c.relname::text, {partial}
FROM pg_publication_rel r
JOIN pg_publication p ON p.oid = r.prpubid
JOIN pg_class c ON c.oid = r.prrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE p.pubname = %s
"""
_PUBLISHED = (
    "SELECT schemaname::text, tablename::text FROM pg_publication_tables WHERE pubname = %s"
)


@dataclass(frozen=True, slots=True)
class PublicationFacts:
    """A publication. `named` are the tables in its own list, `partial` those with a filter.

    `published` is everything that it sends, also through whole schemas.
    """

    name: str
    all_tables: bool
    complete: bool
    named: frozenset[TableId]
    partial: frozenset[TableId]
    published: frozenset[TableId]


@dataclass(frozen=True, slots=True)
class Drift:
    """What stands between a publication and the chosen tables; all empty when nothing does."""

    exists: bool
    missing: tuple[TableFacts, ...] = ()
    unwanted: tuple[TableId, ...] = ()
    partial: tuple[TableId, ...] = ()
    incomplete: bool = False

    def sql(self, name: str) -> tuple[str, ...]:
        """The statements that take the drift away."""
        publication = quote(name)
        if not self.exists:
            tables = f" FOR {_tables(t.table for t in self.missing)}" if self.missing else ""
            return (f"CREATE PUBLICATION {publication}{tables} WITH ({_OPTIONS})",)
        statements = []
        if self.incomplete:
            statements.append(f"ALTER PUBLICATION {publication} SET ({_OPTIONS})")
        gone = (*self.unwanted, *self.partial)
        if gone:
            statements.append(f"ALTER PUBLICATION {publication} DROP {_tables(gone)}")
        new = (*(facts.table for facts in self.missing), *self.partial)
        if new:
            statements.append(f"ALTER PUBLICATION {publication} ADD {_tables(new)}")
        return tuple(statements)


def read_publication(connection: psycopg.Connection, name: str) -> PublicationFacts | None:
    """The publication of that name, or None."""
    lists = connection.info.server_version >= _COLUMN_LISTS_SINCE
    partial = "r.prqual IS NOT NULL OR r.prattrs IS NOT NULL" if lists else "false"
    with translated(name):
        row = connection.execute(_PUBLICATION, (name,)).fetchone()
        if row is None:
            return None
        named = connection.execute(_NAMED.format(partial=partial).encode(), (name,)).fetchall()
        published = connection.execute(_PUBLISHED, (name,)).fetchall()
    return PublicationFacts(
        name=name,
        all_tables=row[0],
        complete=row[1],
        named=frozenset(TableId(schema, table) for schema, table, _ in named),
        partial=frozenset(TableId(schema, table) for schema, table, cut in named if cut),
        published=frozenset(TableId(schema, table) for schema, table in published),
    )


def drift(facts: PublicationFacts | None, tables: Sequence[TableFacts]) -> Drift:
    """How the publication differs from the chosen tables."""
    if facts is None:
        return Drift(exists=False, missing=tuple(tables))
    wanted = {each.table for each in tables}
    held = facts.named | facts.published
    return Drift(
        exists=True,
        missing=()
        if facts.all_tables
        else tuple(each for each in tables if each.table not in held),
        unwanted=tuple(sorted(facts.named - wanted)),
        partial=tuple(sorted(facts.partial & wanted)),
        incomplete=not facts.complete,
    )


def ensure(
    connection: psycopg.Connection, config: PostgresSourceConfig, tables: Sequence[TableFacts]
) -> tuple[str, ...]:
    """Make the publication hold the chosen tables, whole; the statements that were run."""
    found = drift(read_publication(connection, config.publication), tables)
    statements = found.sql(config.publication)
    if not statements:
        return ()
    _check_identities(found.missing)
    script = ";\n".join(statements) + ";"
    if not config.create:
        raise _forbidden(config, script, "the configuration says not to change it")
    with translated(config.publication):
        try:
            with connection.transaction():
                for statement in statements:
                    connection.execute(statement.encode())
        except errors.InsufficientPrivilege as exc:
            raise _forbidden(config, script, str(exc.diag.message_primary)) from exc
    return statements


def gone(exc: psycopg.Error, name: str) -> GapError:
    """The server found no publication for a change: it looks it up as it was at that time."""
    return GapError("postgres-publication-gone", str(exc).strip(), where=name)


def drop(connection: psycopg.Connection, name: str) -> None:
    """Drop the publication if it is there."""
    with translated(name, f"run as the publication's owner: DROP PUBLICATION {quote(name)}"):
        connection.execute(f"DROP PUBLICATION IF EXISTS {quote(name)}".encode())


def _tables(tables: Iterable[TableId]) -> str:
    # ONLY: a table that others inherit from would bring them along, wanted or not.
    return "TABLE " + ", ".join(f"ONLY {quote_table(table)}" for table in tables)


def _check_identities(tables: Sequence[TableFacts]) -> None:
    bare = [each.table for each in tables if not each.has_identity]
    if bare:
        statements = (f"ALTER TABLE {quote_table(t)} REPLICA IDENTITY FULL;" for t in bare)
        raise ConfigError(
            "postgres-no-identity",
            f"no replica identity: {', '.join(map(str, bare))}",
            where="source.tables",
            hint=f"Give each a primary key, or name it in source.exclude, or run: "
            f"{' '.join(statements)}",
        )


def _forbidden(config: PostgresSourceConfig, script: str, reason: str) -> ConfigError:
    return ConfigError(
        "postgres-publication",
        f"the publication is not as chosen: {reason}",
        where=config.publication,
        hint=f"Run as the owner of the tables:\n{script}",
    )
