"""The publication: which tables the server sends, and whether that is what was chosen.

A table without a replica identity is never published: the server would refuse the application's
updates and deletes of it. A publication that leaves out rows, columns or kinds of change is drift,
because the stream would have holes that nobody sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
# On a standby nothing can be changed: its primary has to.
_REFUSALS = (errors.InsufficientPrivilege, errors.DuplicateObject, errors.ReadOnlySqlTransaction)

_PUBLICATION = """
SELECT puballtables, pubinsert AND pubupdate AND pubdelete AND pubtruncate AND pubviaroot
FROM pg_publication WHERE pubname = %s
"""
_NAMED = """
SELECT n.nspname::text, c.relname::text, r.oid::bigint, {partial}
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
    """A publication. `entries` is its own list of tables, `partial` those of them with a filter.

    An entry has a number: a table that was taken out and put back has another, greater one.
    `published` is everything that it sends, also through whole schemas.
    """

    name: str
    all_tables: bool
    complete: bool
    entries: Mapping[TableId, int]
    partial: frozenset[TableId]
    published: frozenset[TableId]

    def sends(self, table: TableId) -> bool:
        """Whether changes of the table are sent, all or some."""
        return self.all_tables or table in self.entries or table in self.published


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
        entries={TableId(schema, table): entry for schema, table, entry, _ in named},
        partial=frozenset(TableId(schema, table) for schema, table, _, cut in named if cut),
        published=frozenset(TableId(schema, table) for schema, table in published),
    )


def drift(facts: PublicationFacts | None, tables: Sequence[TableFacts]) -> Drift:
    """How the publication differs from the chosen tables."""
    if facts is None:
        return Drift(exists=False, missing=tuple(tables))
    wanted = {each.table for each in tables}
    return Drift(
        exists=True,
        missing=tuple(each for each in tables if not facts.sends(each.table)),
        unwanted=tuple(sorted(facts.entries.keys() - wanted)),
        partial=tuple(sorted(facts.partial & wanted)),
        incomplete=not facts.complete,
    )


def unsent(
    facts: PublicationFacts | None, tables: Sequence[TableFacts], entry: int
) -> tuple[TableId, ...]:
    """Those tables of which not every change was sent since `entry` was the newest."""
    if facts is None or not facts.complete:
        return tuple(each.table for each in tables)
    return tuple(
        each.table
        for each in tables
        if not facts.sends(each.table)
        or each.table in facts.partial
        or facts.entries.get(each.table, 0) > entry
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
    _run(connection, config, statements)
    return statements


def add(connection: psycopg.Connection, config: PostgresSourceConfig, facts: TableFacts) -> None:
    """Make the publication hold one more table, whole, and leave its others alone."""
    found = read_publication(connection, config.publication)
    if found is not None and found.sends(facts.table) and facts.table not in found.partial:
        return
    _check_identities((facts,))
    statement = f"ALTER PUBLICATION {quote(config.publication)} ADD {_tables((facts.table,))}"
    _run(connection, config, (statement,))


def _run(
    connection: psycopg.Connection, config: PostgresSourceConfig, statements: Sequence[str]
) -> None:
    script = ";\n".join(statements) + ";"
    if not config.create:
        raise _forbidden(config, script, "the configuration says not to change it")
    with translated(config.publication):
        try:
            with connection.transaction():
                for statement in statements:
                    connection.execute(statement.encode())
        except _REFUSALS as exc:
            raise _forbidden(config, script, str(exc.diag.message_primary)) from exc


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
