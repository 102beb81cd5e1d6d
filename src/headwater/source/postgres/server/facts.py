"""What the server is, and whether a checkpoint was taken from it."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg import errors

from headwater.errors import ConfigError, GapError
from headwater.source.postgres.config import PostgresSourceConfig, Transport
from headwater.source.postgres.lsn import format_lsn, parse_lsn
from headwater.source.postgres.names import quote
from headwater.source.postgres.server.connect import place, replication_connection, translated

OLDEST_VERSION = 140000
_MEGABYTE = 1024 * 1024

_SETTINGS = """
SELECT current_setting('server_version_num')::int,
       current_setting('wal_level'),
       current_database(),
       (SELECT oid::bigint FROM pg_database WHERE datname = current_database()),
       (SELECT setting::bigint FROM pg_settings WHERE name = 'max_slot_wal_keep_size'),
       (SELECT setting::bigint FROM pg_settings WHERE name = 'wal_sender_timeout'),
       pg_is_in_recovery(),
       CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
"""
# The log's file name begins with the timeline. The control file's timeline would be the old one
# for a while after a standby was promoted.
_IDENTITY = """
SELECT system_identifier::text,
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int
FROM pg_control_system()
"""


Switches = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One server and the database that the connection is to.

    `max_slot_wal_keep_bytes` and `wal_sender_timeout_ms` are None where there is no limit.
    `switches` says at which position each earlier timeline ended; None if that could not be read.
    """

    version_num: int
    system_identifier: str
    timeline: int
    switches: Switches | None
    wal_level: str
    database: str
    database_oid: int
    max_slot_wal_keep_bytes: int | None
    wal_sender_timeout_ms: int | None
    in_recovery: bool
    wal_lsn: int


def read_server(connection: psycopg.Connection, config: PostgresSourceConfig) -> ServerFacts:
    """The server's facts; a second connection is made only for what plain SQL does not tell."""
    with translated(place(config)):
        row = connection.execute(_SETTINGS).fetchone()
        if row is None:
            raise AssertionError("a query without FROM gives one row")
        version, wal_level, database, oid, keep_mb, timeout_ms, in_recovery, lsn = row
        system, timeline = _identity(connection, config, in_recovery=in_recovery)
        return ServerFacts(
            version_num=version,
            system_identifier=system,
            timeline=timeline,
            switches=_switches(connection, config, timeline) if timeline > 1 else (),
            wal_level=wal_level,
            database=database,
            database_oid=oid,
            max_slot_wal_keep_bytes=None if keep_mb < 0 else keep_mb * _MEGABYTE,
            wal_sender_timeout_ms=timeout_ms or None,
            in_recovery=in_recovery,
            wal_lsn=parse_lsn(lsn),
        )


def check_server(facts: ServerFacts) -> None:
    """Refuse a server that cannot be captured, before anything is made on it."""
    if facts.version_num < OLDEST_VERSION:
        raise ConfigError("postgres-version", f"the server's version is {facts.version_num}")
    if facts.wal_level != "logical":
        raise ConfigError("postgres-wal-level", f"wal_level is {facts.wal_level}")


def check_identity(facts: ServerFacts, *, system: str, timeline: int, lsn: int) -> None:
    """Refuse to go on from a checkpoint that this server's history does not contain (INV-9)."""
    if system != facts.system_identifier:
        raise GapError(
            "postgres-other-server",
            f"the checkpoint is of server {system}, this is server {facts.system_identifier}",
        )
    end = facts.wal_lsn
    if timeline == facts.timeline:
        if facts.in_recovery:
            return  # a standby that is behind catches up
    else:
        if facts.switches is None:
            raise ConfigError(
                "postgres-privilege",
                f"the checkpoint is on timeline {timeline}, the server on {facts.timeline}, and "
                "without a replication connection its history cannot be read",
                hint="GRANT EXECUTE ON FUNCTION pg_read_file(text) TO the capturing role",
            )
        # A standby that was promoted goes on from where the old primary's log was cut.
        ends = dict(facts.switches)
        if timeline not in ends:
            raise GapError(
                "postgres-other-server",
                f"the checkpoint is on timeline {timeline}, which is no ancestor "
                f"of the server's timeline {facts.timeline}",
            )
        end = ends[timeline]
    if lsn > end:
        raise GapError(
            "postgres-other-server",
            f"the checkpoint stands at {format_lsn(lsn)}, but timeline {timeline} "
            f"of this server ends at {format_lsn(end)}: it was restored to an earlier time",
        )


def _identity(
    connection: psycopg.Connection, config: PostgresSourceConfig, *, in_recovery: bool
) -> tuple[str, int]:
    if not in_recovery:
        try:
            row = connection.execute(_IDENTITY).fetchone()
        except errors.InsufficientPrivilege:
            row = None  # a managed server may keep the function to itself
        if row is not None:
            return row[0], row[1]
    row = _replicated(config, "IDENTIFY_SYSTEM")
    if row is None:
        raise _nameless(connection, in_recovery=in_recovery)
    return str(row[0]), int(row[1])


def _nameless(connection: psycopg.Connection, *, in_recovery: bool) -> ConfigError:
    role = quote(connection.info.user)
    if in_recovery:
        return ConfigError(
            "postgres-no-replication",
            "a standby says which history it follows on a replication connection only",
            hint="Connect past the pooler, or to the primary: add "
            "target_session_attrs=read-write to the source URL.",
        )
    return ConfigError(
        "postgres-privilege",
        "the role may not ask which server this is, and there is no replication connection",
        hint=f"GRANT EXECUTE ON FUNCTION pg_control_system() TO {role}",
    )


def _switches(
    connection: psycopg.Connection, config: PostgresSourceConfig, timeline: int
) -> Switches | None:
    """The history file: each line is a timeline and the position where its successor began."""
    row = _replicated(config, f"TIMELINE_HISTORY {timeline}")
    if row is None:
        try:
            file = f"pg_wal/{timeline:08X}.history"
            row = connection.execute("SELECT '', pg_read_file(%s)", (file,)).fetchone()
        except (errors.InsufficientPrivilege, errors.UndefinedFile):
            return None
    content = row[1] if row is not None else b""
    text = content.decode() if isinstance(content, bytes) else content
    lines = (line.split() for line in text.splitlines() if line.strip()[:1].isdigit())
    return tuple((int(parts[0]), parse_lsn(parts[1])) for parts in lines)


def _replicated(config: PostgresSourceConfig, command: str) -> psycopg.rows.TupleRow | None:
    """A replication command's row; None where there may be no replication connection."""
    if config.transport is Transport.SQL:
        return None
    try:
        replication = replication_connection(config)
    except ConfigError as error:
        if config.transport is Transport.AUTO and error.code == "postgres-no-replication":
            return None
        raise
    with replication:
        return replication.execute(command.encode()).fetchone()
