"""Everything that the checks need to know, read over one connection; nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from headwater.app.inspect import writer_of
from headwater.app.logs import log_info
from headwater.errors import HeadwaterError
from headwater.event import Position, TableId
from headwater.source.postgres.config import PostgresSourceConfig, Transport
from headwater.source.postgres.names import literal
from headwater.source.postgres.place import Place
from headwater.source.postgres.server.catalog import TableFacts, read_tables
from headwater.source.postgres.server.connect import (
    connect,
    place,
    replication_connection,
    translated,
)
from headwater.source.postgres.server.facts import ServerFacts, read_server
from headwater.source.postgres.server.publication import PublicationFacts, read_publication
from headwater.source.postgres.server.slot import SlotFacts, list_slots

_SETTINGS = """
SELECT name, setting FROM pg_settings WHERE name IN (
    'max_replication_slots', 'max_wal_senders', 'wal_sender_timeout',
    'idle_replication_slot_timeout', 'synchronized_standby_slots', 'sync_replication_slots',
    'hot_standby_feedback')
"""
_ROLE = """
SELECT r.rolname::text, r.rolsuper, r.rolsuper OR r.rolreplication,
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
       coalesce((SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()), ''),
       host(inet_server_addr())
FROM pg_roles r WHERE r.rolname = current_user
"""
_SENDERS = """
SELECT count(*), count(*) FILTER (WHERE pid NOT IN (
    SELECT active_pid FROM pg_replication_slots WHERE active_pid IS NOT NULL
    AND slot_type = 'logical'))
FROM pg_stat_replication
"""
# Of other roles' sessions a role without pg_read_all_stats sees no times.
_OLDEST = """
SELECT pid, coalesce(usename::text, ''), coalesce(application_name, ''),
       extract(epoch FROM now() - xact_start)::float8
FROM pg_stat_activity
WHERE xact_start IS NOT NULL AND backend_xid IS NOT NULL AND datname = current_database()
ORDER BY xact_start LIMIT 1
"""
_PREPARED = """
SELECT gid, owner::text, extract(epoch FROM now() - prepared)::float8
FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared LIMIT 1
"""
_UNLOGGED = """
SELECT n.nspname::text, c.relname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'u' AND n.nspname NOT LIKE 'pg\\_%' ORDER BY 1, 2
"""
_GUARDED = """
SELECT c.oid::bigint FROM pg_class c
WHERE c.relrowsecurity AND NOT pg_has_role(c.relowner, 'USAGE')
  AND NOT (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
"""


@dataclass(frozen=True, slots=True)
class RoleFacts:
    """Who is connected, and how. `address` is None over a socket of this machine."""

    name: str
    superuser: bool
    replication: bool
    tls: bool
    tls_version: str
    address: str | None

    @property
    def remote(self) -> bool:
        """Whether the connection leaves this machine."""
        return self.address is not None and not ip_address(self.address).is_loopback


@dataclass(frozen=True, slots=True)
class OldTransaction:
    """The oldest transaction that wrote something and has not ended."""

    what: str
    age_s: float
    end_sql: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresFacts:
    """A database as the checks see it. `resume` is where the log stands; None without one.

    `refusal` is why there is no replication connection; None if there is one, or none is wanted.
    """

    config: PostgresSourceConfig
    where: str
    server: ServerFacts
    settings: dict[str, str]
    role: RoleFacts
    senders: int
    standbys: int
    slots: tuple[SlotFacts, ...]
    publication: PublicationFacts | None
    tables: tuple[TableFacts, ...]
    unlogged: tuple[TableId, ...]
    guarded: frozenset[int]
    oldest: OldTransaction | None
    log_readable: bool
    resume: Place | None
    running: bool
    refusal: HeadwaterError | None = None

    @property
    def by_sql(self) -> bool:
        """Whether the slot is read by SQL."""
        wanted = self.config.transport
        refused = self.refusal is not None and self.refusal.code == "postgres-no-replication"
        return wanted is Transport.SQL or (wanted is Transport.AUTO and refused)

    @property
    def slot(self) -> SlotFacts | None:
        """The pipeline's own slot."""
        return next((each for each in self.slots if each.name == self.config.slot), None)


def read_facts(config: PostgresSourceConfig, log: Path) -> PostgresFacts:
    """Look at the server, and at what the log says about it."""
    where = place(config)
    readable, resume = _resume(log)
    with connect(config, "doctor") as connection, translated(where):
        server = read_server(connection, config)
        role = connection.execute(_ROLE).fetchone()
        senders = connection.execute(_SENDERS).fetchone() or (0, 0)
        if role is None:
            raise AssertionError("the connected role exists")
        return PostgresFacts(
            config=config,
            where=where,
            server=server,
            settings=dict(connection.execute(_SETTINGS).fetchall()),
            role=RoleFacts(*role),
            senders=senders[0],
            standbys=senders[1],
            slots=list_slots(connection),
            publication=read_publication(connection, config.publication),
            tables=read_tables(connection, config),
            unlogged=tuple(
                table
                for table in (TableId(*row) for row in connection.execute(_UNLOGGED))
                if config.wants(table)
            ),
            guarded=frozenset(row[0] for row in connection.execute(_GUARDED)),
            oldest=_oldest(
                connection.execute(_PREPARED).fetchone(), connection.execute(_OLDEST).fetchone()
            ),
            log_readable=readable,
            resume=resume,
            running=writer_of(log) is not None,
            refusal=_refusal(config),
        )


def _refusal(config: PostgresSourceConfig) -> HeadwaterError | None:
    if config.transport is not Transport.SQL:
        try:
            replication_connection(config).close()
        except HeadwaterError as exc:
            return exc
    return None


def _oldest(
    prepared: tuple[str, str, float] | None, session: tuple[int, str, str, float] | None
) -> OldTransaction | None:
    found = []
    if prepared is not None:
        gid, owner, age_s = prepared
        end = f"ROLLBACK PREPARED {literal(gid)}"
        found.append(OldTransaction(f"prepared transaction {gid!r} of {owner}", age_s, end))
    if session is not None:
        pid, user, application, age_s = session
        what = f"process {pid} ({user}, {application or 'unnamed'})"
        found.append(OldTransaction(what, age_s, f"SELECT pg_terminate_backend({pid})"))
    return max(found, key=lambda each: each.age_s, default=None)


def _resume(log: Path) -> tuple[bool, Place | None]:
    """Whether the log can be read, which another check reports, and where it stands."""
    if not log.exists():
        return True, None
    try:
        position = log_info(log)["position"]
        return True, None if position is None else Place.decode(Position.decode(position))
    except HeadwaterError:
        return False, None
