"""PostgreSQL keeps the promises of contract.Source, on a real server and with few rights."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from headwater.contract import Source
from headwater.event import Operation
from headwater.source.postgres import PostgresSource
from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.publication import ensure
from headwater.testing.conformance.source import SourceConformance, SourceDriver
from headwater.testing.script import Change
from tests.fix_postgres import PostgresDatabase, PostgresServer, PostgresServers

_STATEMENTS = {
    Operation.INSERT: "INSERT INTO items (id, value) VALUES (%(key)s, %(value)s)",
    Operation.UPDATE: "UPDATE items SET value = %(value)s WHERE id = %(key)s",
    Operation.DELETE: "DELETE FROM items WHERE id = %(key)s",
    Operation.TRUNCATE: "TRUNCATE items",
}


class PostgresDriver:
    """A real database; the application's role writes, the capturing role reads."""

    def __init__(self, database: PostgresDatabase) -> None:
        self.database = database
        self.db = database.connect()
        self.db.execute("CREATE TABLE items (id int PRIMARY KEY, value text)")
        self.db.execute("ALTER TABLE items REPLICA IDENTITY FULL")
        config = database.config()
        ensure(self.db, config, read_tables(self.db, config))

    def source(self) -> Source:
        return PostgresSource(self.database.config(chunk_rows=2))

    def commit(self, changes: Sequence[Change], context: Mapping[str, Any] | None = None) -> None:
        with self.db.transaction():
            if context is not None:
                self.db.execute(
                    "SELECT pg_logical_emit_message(true, 'headwater.context', %s)",
                    (json.dumps(context),),
                )
            for change in changes:
                self.db.execute(_STATEMENTS[change.op], {"key": change.key, "value": change.value})

    def add_column(self, name: str) -> None:
        self.db.execute(f"ALTER TABLE items ADD COLUMN {name} text".encode())

    def lose_history(self) -> None:
        """Somebody else reads the slot to its end."""
        with self.database.connect("postgres") as db:
            db.execute(
                "SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())",
                (self.database.name,),
            )


class TestPostgresSource(SourceConformance):
    patience_s = 0.5

    @pytest.fixture
    def driver(self, postgres_database: PostgresDatabase) -> SourceDriver:
        return PostgresDriver(postgres_database)


class TestPostgresSourceBySql(SourceConformance):
    """The same where the server has no replication connection to give."""

    patience_s = 0.5

    @pytest.fixture
    def driver(
        self, postgres_servers: PostgresServers, senderless_server: PostgresServer
    ) -> Iterator[SourceDriver]:
        database = postgres_servers.database(senderless_server)
        yield PostgresDriver(database)
        postgres_servers.drop(database)


class TestPostgresSourceBehindAPooler(SourceConformance):
    """The same where a pooler refuses replication connections."""

    patience_s = 0.5

    @pytest.fixture
    def driver(self, postgres_database: PostgresDatabase, pooled_port: int) -> SourceDriver:
        return PostgresDriver(replace(postgres_database, pooled_port=pooled_port))


def test_driver_uses_a_role_without_superuser(postgres_database: PostgresDatabase) -> None:
    with psycopg.connect(postgres_database.dsn()) as db:
        row = db.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    assert row == (False,)
