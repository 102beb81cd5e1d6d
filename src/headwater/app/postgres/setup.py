"""Preparing a PostgreSQL database: rights, publication, context function, event triggers.

Rights and the publication are needed, the rest adds to what events tell. Each step is done for
itself: what the connected role may not do is given as SQL for somebody who may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headwater.app.postgres.target import target
from headwater.app.postgres_settings import driver
from headwater.app.source_options import SourceOptions
from headwater.errors import ConfigError

if TYPE_CHECKING:
    from headwater.event import TableId
    from headwater.source.postgres.config import PostgresSourceConfig
    from headwater.source.postgres.server.catalog import TableFacts as ServerTable

_ROLE = "SELECT rolcanlogin AND rolreplication OR rolsuper FROM pg_roles WHERE rolname = %s"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupOrder:
    """What to prepare. `role` is who will capture; None leaves the rights alone."""

    url: str
    tables: tuple[str, ...] = ("*",)
    role: str | None = None
    publication: str | None = None
    config_file: str | None = None
    event_triggers: bool = True

    def settings(self) -> PostgresSourceConfig:
        """The database of the URL, with the names and tables of the configuration if there is."""
        config = target(self.url, SourceOptions(tables=self.tables))
        if self.config_file is not None:
            named = target(self.config_file)
            config = replace(named, dsn=config.dsn)
        if self.publication is not None:
            config = replace(config, publication=self.publication)
        return config


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, not before the step `after` is done.

    `needed` steps that are refused leave the database unprepared.
    """

    name: str
    sql: tuple[str, ...]
    needed: bool = True
    after: str = ""


def plan(order: SetupOrder) -> dict[str, Any]:
    """What there is to do, as SQL; nothing is changed."""
    steps, tables = _plan(order)
    statements = [sql for step in steps for sql in step.sql]
    return {
        "tables": tables,
        "steps": [{"name": step.name, "sql": list(step.sql)} for step in steps],
        "sql": statements,
    }


def prepare(order: SetupOrder) -> dict[str, Any]:
    """Do it; each step tells how it went."""
    steps, tables = _plan(order)
    config = order.settings()
    refused: dict[str, str] = {}
    for step in steps:
        refused[step.name] = refused.get(step.after) or _run(config, step)
    return {
        "publication": config.publication,
        "tables": tables,
        "steps": [
            {
                "name": step.name,
                "sql": list(step.sql),
                "refused": refused[step.name],
                "needed": step.needed,
            }
            for step in steps
        ],
        "ready": not any(refused[step.name] for step in steps if step.needed),
    }


def remove(order: SetupOrder) -> dict[str, Any]:
    """Take everything of ours out of the database; slots stay, because they hold changes."""
    config = order.settings()
    with driver():
        from headwater.source.postgres.server import install, publication
        from headwater.source.postgres.server.connect import connect
        from headwater.source.postgres.server.slot import list_slots
    with connect(config, "setup") as connection:
        there = publication.read_publication(connection, config.publication) is not None
        publication.drop(connection, config.publication)
        install.uninstall(connection)
        database = connection.info.dbname
        left = [slot.name for slot in list_slots(connection) if slot.database == database]
    return {"publication": config.publication if there else None, "slots": left}


def _plan(order: SetupOrder) -> tuple[list[Step], list[str]]:
    config = order.settings()
    with driver():
        from headwater.source.postgres.server.catalog import require_tables
        from headwater.source.postgres.server.connect import connect
        from headwater.source.postgres.server.install import (
            CONTEXT_SQL,
            TRIGGERS_SQL,
            read_installation,
        )
        from headwater.source.postgres.server.publication import drift, read_publication
    with connect(config, "setup") as connection:
        tables = require_tables(connection, config)
        _require_identities(tables)
        found = drift(read_publication(connection, config.publication), tables)
        installed = read_installation(connection)
        rights: tuple[str, ...] = ()
        if order.role is not None:
            row = connection.execute(_ROLE, (order.role,)).fetchone()
            names = [each.table for each in tables]
            rights = _rights(order.role, connection.info.dbname, names, row)
    steps = [Step("rights", rights), Step("publication", found.sql(config.publication))]
    if not installed.context:
        steps.append(Step("context function", (CONTEXT_SQL.strip(),), needed=False))
    if order.event_triggers and not installed.ddl_messages:
        triggers = (TRIGGERS_SQL.strip(),)
        steps.append(Step("event triggers", triggers, needed=False, after="context function"))
    return [step for step in steps if step.sql], [str(each.table) for each in tables]


def _rights(
    role: str, database: str, tables: Sequence[TableId], found: Sequence[bool] | None
) -> tuple[str, ...]:
    from headwater.source.postgres.names import quote
    from headwater.source.postgres.server.install import minimal_grants

    if found is None:
        raise ConfigError(
            "postgres-role",
            f"there is no role {role!r}",
            hint=f"CREATE ROLE {quote(role)} LOGIN REPLICATION PASSWORD '…'",
        )
    grants = minimal_grants(role, database, tables)
    return grants[1:] if found[0] else grants  # the first one is what the role already is


def _require_identities(tables: Sequence[ServerTable]) -> None:
    from headwater.source.postgres.names import quote_table

    bare = [each.table for each in tables if not each.has_identity]
    if bare:
        fixes = " ".join(f"ALTER TABLE {quote_table(t)} REPLICA IDENTITY FULL;" for t in bare)
        raise ConfigError(
            "postgres-no-identity",
            f"no replica identity: {', '.join(map(str, bare))}",
            hint=f"give each a primary key, or leave it out with --tables, or run: {fixes}",
        )


def _run(config: PostgresSourceConfig, step: Step) -> str:
    """Do one step; the server's words if it is refused."""
    from headwater.source.postgres.server.connect import connect, place, translated

    with connect(config, "setup") as connection:
        try:
            with translated(place(config)), connection.transaction():
                for sql in step.sql:
                    connection.execute(sql.encode())
        except ConfigError as exc:
            if exc.code != "postgres-privilege":
                raise
            return exc.message
    return ""
