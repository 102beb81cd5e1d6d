"""Preparing a PostgreSQL database: rights, publication, context function, event triggers.

Rights and the publication are needed, the rest adds to what events tell. Each step is done for
itself: what the connected role may not do is given as SQL for somebody who may.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headwater.app.postgres.settings import driver
from headwater.app.postgres.target import target
from headwater.app.registry import SourceOptions
from headwater.errors import ConfigError

if TYPE_CHECKING:
    from headwater.source.postgres.config import PostgresSourceConfig

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
    """One thing to do. `needed` steps that are refused leave the database unprepared."""

    name: str
    sql: tuple[str, ...]
    needed: bool = True


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
    outcomes = [_run(config, step) for step in steps]
    refused = [each["name"] for each in outcomes if each["refused"] and each["needed"]]
    return {
        "publication": config.publication,
        "tables": tables,
        "steps": outcomes,
        "ready": not refused,
    }


def remove(order: SetupOrder) -> dict[str, Any]:
    """Take everything of ours out of the database; slots stay, because they hold changes."""
    config = order.settings()
    with driver():
        from headwater.source.postgres import install, publication
        from headwater.source.postgres.connect import connect
        from headwater.source.postgres.slot import list_slots
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
        from headwater.source.postgres.catalog import require_tables
        from headwater.source.postgres.connect import connect
        from headwater.source.postgres.install import _CONTEXT, _TRIGGERS, read_installation
        from headwater.source.postgres.publication import check_identities, drift, read_publication
    with connect(config, "setup") as connection:
        tables = require_tables(connection, config)
        found = drift(read_publication(connection, config.publication), tables)
        check_identities(found.missing)
        installed = read_installation(connection)
        steps = []
        if order.role is not None:
            row = connection.execute(_ROLE, (order.role,)).fetchone()
            names = [each.table for each in tables]
            steps.append(Step("rights", _grants(order.role, connection.info.dbname, names, row)))
    steps.append(Step("publication", found.sql(config.publication)))
    if not installed.context:
        steps.append(Step("context function", (_CONTEXT.strip(),), needed=False))
    if order.event_triggers and not installed.ddl_messages:
        steps.append(Step("event triggers", (_TRIGGERS.strip(),), needed=False))
    return [step for step in steps if step.sql], [str(each.table) for each in tables]
