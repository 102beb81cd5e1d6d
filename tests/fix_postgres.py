"""Fixture plugin: real PostgreSQL servers, each in a directory of its own, loopback only.

    postgres_server      one server for the whole run
    postgres_database    a fresh database on it, with its slots dropped at the end
    postgres_servers     makes further servers: durable ones to crash, others with TLS or limits
    pooled_port          a pooler's port, before the server of the whole run
    senderless_server    a server that admits no replication connection
    newer_postgres       a server of each newer version that tools/fetch_postgres.py gets

Three roles. `postgres` is the superuser and serves the fixture alone. `app` owns the databases and
their tables, as an application does. `capture` is what Headwater connects as, with no more than it
needs:

    CREATE ROLE capture LOGIN REPLICATION PASSWORD '…'       the slot and the stream
    GRANT CONNECT ON DATABASE …, USAGE ON SCHEMA …           PUBLIC has both here
    GRANT SELECT ON …                                        the snapshot reads the rows
    ALTER DEFAULT PRIVILEGES … GRANT SELECT ON TABLES        the same for later tables

The publication is made by `app`: only a table's owner may publish it.

HEADWATER_TEST_POSTGRES=17 makes every server one of that version.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headwater.secret import Secret
from headwater.source.postgres.config import PostgresSourceConfig
from tests.pooler import Pooler, pooler_binary
from tests.postgres_server import (
    PASSWORDS,
    PostgresServer,
    as_server_user,
    installed_binaries,
    own_to_server,
    run,
)
from tools.fetch_postgres import cached_servers, fetch_missing

__all__ = [
    "PASSWORDS",
    "PostgresDatabase",
    "PostgresServer",
    "PostgresServers",
    "newer_servers",
    "own_to_server",
]

_SETTINGS = {
    "wal_level": "logical",
    "max_wal_senders": "10",
    "max_replication_slots": "20",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "listen_addresses": "127.0.0.1",
    "password_encryption": "scram-sha-256",
    "log_min_messages": "warning",
    # Far from what capture pins, so that a session that forgot to pin shows.
    "timezone": "America/New_York",
    "datestyle": "SQL, DMY",
    "intervalstyle": "postgres_verbose",
    "bytea_output": "escape",
}
# Commits stay synchronous: what a test has committed must be in the stream.
_FAST = {"fsync": "off", "full_page_writes": "off"}


def default_binaries() -> Path:
    """The installed server, or the version that HEADWATER_TEST_POSTGRES asks for."""
    version = os.environ.get("HEADWATER_TEST_POSTGRES")
    return newer_servers()[int(version)] if version else installed_binaries()


def newer_servers() -> dict[int, Path]:
    """The programs of newer servers by major version; fetches them if there are none yet."""
    if not cached_servers():
        fetch_missing()
    return cached_servers()


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database owned by `app`, whose tables `capture` may read."""

    server: PostgresServer
    name: str
    pooled_port: int | None = None

    def dsn(self, user: str = "capture") -> str:
        """A connection URI; the capturing role's goes through the pooler if there is one."""
        dsn = self.server.dsn(user, self.name)
        if self.pooled_port is None or user != "capture":
            return dsn
        return dsn.replace(f":{self.server.port}/", f":{self.pooled_port}/")

    def sql(self, text: str, *values: object, user: str = "app") -> list[tuple[Any, ...]]:
        """Run SQL, as the application unless told otherwise."""
        return self.server.sql(text, *values, user=user, database=self.name)

    def connect(self, user: str = "app") -> psycopg.Connection:
        """An ordinary autocommit connection."""
        return self.server.connect(user, self.name)

    def await_free_slot(self) -> None:
        """Return when the server has noticed that a capture has ended."""
        held = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
        while self.sql(held, self.name, user="postgres"):
            time.sleep(0.05)

    def config(self, user: str = "capture", **settings: Any) -> PostgresSourceConfig:
        """A source configuration whose slot name is this database's own."""
        settings.setdefault("slot", self.name)
        return PostgresSourceConfig(dsn=Secret(self.dsn(user)), **settings)


@dataclass(slots=True)
class PostgresServers:
    """Makes servers and ends them; initdb runs once for each set of binaries."""

    _templates: dict[Path, Path] = field(default_factory=dict)
    _made: list[PostgresServer] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def start(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        durable: bool = False,
        binaries: Path | None = None,
    ) -> PostgresServer:
        """A new running server; `durable` keeps fsync, for tests that pull the plug."""
        binaries = binaries or default_binaries()
        server = PostgresServer(binaries, _directory("hw-pg-"))
        self._made.append(server)
        run(["cp", "-a", str(self._template(binaries)), str(server.data)])
        server.configure(_SETTINGS | ({} if durable else _FAST) | dict(settings or {}))
        server.start()
        return server

    def standby(self, primary: PostgresServer) -> PostgresServer:
        """A running hot standby of a server, which is restarted for it."""
        standby = PostgresServer(primary.binaries, _directory("hw-pg-"))
        self._made.append(standby)
        primary.sql("SELECT pg_create_physical_replication_slot('standby')")
        primary.stop()
        run(["cp", "-a", str(primary.data), str(standby.data)])
        primary.start()
        standby.configure(
            {
                "primary_conninfo": primary.dsn("postgres"),
                "primary_slot_name": "standby",
                "hot_standby_feedback": "on",
            }
        )
        (standby.data / "standby.signal").touch()
        standby.start()
        return standby

    def database(self, server: PostgresServer) -> PostgresDatabase:
        """A new database on a server."""
        name = f"shop_{next(self._numbers)}"
        server.sql(f"CREATE DATABASE {name} OWNER app")
        database = PostgresDatabase(server, name)
        database.sql("ALTER DEFAULT PRIVILEGES FOR ROLE app GRANT SELECT ON TABLES TO capture")
        return database

    def drop(self, database: PostgresDatabase) -> None:
        """Drop a database with its slots and whoever still reads from them."""
        slots = "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s"
        for slot, pid in database.server.sql(slots, database.name):
            if pid is not None:
                database.server.sql("SELECT pg_terminate_backend(%s, 10000)", pid)
            database.server.sql("SELECT pg_drop_replication_slot(%s)", slot)
        database.server.sql(f"DROP DATABASE {database.name} WITH (FORCE)")

    def discard(self, server: PostgresServer) -> None:
        """End a server and delete its directory."""
        server.crash()
        shutil.rmtree(server.directory)
        self._made.remove(server)

    def close(self) -> None:
        """End every server and delete every directory."""
        for server in tuple(self._made):
            self.discard(server)
        for template in self._templates.values():
            shutil.rmtree(template.parent)

    def _template(self, binaries: Path) -> Path:
        if binaries not in self._templates:
            self._templates[binaries] = _initialise(binaries)
        return self._templates[binaries]


def _directory(prefix: str) -> Path:
    # pytest's own directories are closed to other users, and a socket's path must be short.
    return own_to_server(Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp")))


def _initialise(binaries: Path) -> Path:
    """A fresh cluster with the three roles."""
    data = _directory("hw-pg-template-") / "data"
    passwords = data.parent / "passwords"
    passwords.write_text(PASSWORDS["postgres"])
    options = [
        "--username=postgres",
        "--auth=scram-sha-256",
        f"--pwfile={own_to_server(passwords)}",
    ]
    options += ["--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", f"--pgdata={data}"]
    run(as_server_user(binaries / "initdb", *options))
    roles = (("app", ""), ("capture", "REPLICATION"))
    script = "".join(
        f"CREATE ROLE {role} LOGIN {rights} PASSWORD '{PASSWORDS[role]}';\n"
        for role, rights in roles
    )
    run(as_server_user(binaries / "postgres", "--single", "-F", "-D", data, "postgres"), script)
    return data


@pytest.fixture(scope="session")
def postgres_servers() -> Iterator[PostgresServers]:
    servers = PostgresServers()
    try:
        yield servers
    finally:
        servers.close()


@pytest.fixture(scope="session")
def postgres_server(postgres_servers: PostgresServers) -> PostgresServer:
    return postgres_servers.start()


@pytest.fixture
def postgres_database(
    postgres_servers: PostgresServers, postgres_server: PostgresServer
) -> Iterator[PostgresDatabase]:
    database = postgres_servers.database(postgres_server)
    yield database
    postgres_servers.drop(database)


@pytest.fixture(scope="session")
def pooled_port(postgres_server: PostgresServer) -> Iterator[int]:
    binary = pooler_binary()
    if binary is None:
        pytest.skip("no pgbouncer: sudo apt-get install pgbouncer")
    pooler = Pooler.start(binary, postgres_server)
    yield pooler.port
    pooler.stop()


@pytest.fixture(scope="session")
def senderless_server(postgres_servers: PostgresServers) -> PostgresServer:
    return postgres_servers.start({"max_wal_senders": "0"})


@pytest.fixture(scope="session")
def newer_postgres(postgres_servers: PostgresServers) -> dict[int, PostgresServer]:
    found = newer_servers()
    if not found:
        pytest.skip("no newer PostgreSQL could be fetched: python tools/fetch_postgres.py says why")
    return {
        version: postgres_servers.start(binaries=binaries) for version, binaries in found.items()
    }
