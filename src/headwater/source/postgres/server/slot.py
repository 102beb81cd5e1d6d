"""The replication slot: the server's promise to keep the log that we have not confirmed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psycopg
from psycopg import errors

from headwater.errors import ConfigError, GapError, TransientError
from headwater.source.postgres.config import PostgresSourceConfig
from headwater.source.postgres.lsn import format_lsn, parse_lsn
from headwater.source.postgres.names import literal, quote
from headwater.source.postgres.server.connect import translated
from headwater.source.postgres.server.facts import ServerFacts

PLUGIN = "pgoutput"
_OPTIONS_SINCE = 150000
_FAILOVER_SINCE = 170000
_LOOKS, _LOOK_S = 20, 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotFacts:
    """One slot. `retained_bytes` is the log that the server keeps for it.

    `active_by` is the reading process in words; `invalidation` is why the server gave the slot up.
    """

    name: str
    plugin: str | None
    database: str | None
    temporary: bool
    two_phase: bool
    failover: bool
    active_pid: int | None
    active_by: str
    restart_lsn: int | None
    confirmed_flush_lsn: int | None
    wal_status: str | None
    safe_wal_size: int | None
    invalidation: str | None
    retained_bytes: int | None

    @property
    def is_lost(self) -> bool:
        """Whether the server has removed log that the slot needed, or gave it up otherwise."""
        return self.wal_status == "lost" or self.invalidation is not None


@dataclass(frozen=True, slots=True)
class CreatedSlot:
    """Changes after `consistent_lsn` are streamed; those before are in the exported snapshot."""

    consistent_lsn: int
    snapshot_name: str | None


def list_slots(connection: psycopg.Connection) -> tuple[SlotFacts, ...]:
    """Every slot of the server, by name."""
    with translated():
        rows = connection.execute(_query(connection.info.server_version)).fetchall()
    return tuple(_facts(row) for row in rows)


def read_slot(connection: psycopg.Connection, name: str) -> SlotFacts | None:
    """The slot of that name, or None."""
    return next((slot for slot in list_slots(connection) if slot.name == name), None)


def settled_slot(connection: psycopg.Connection, name: str) -> SlotFacts | None:
    """The slot of that name. A reader that has gone holds it until the server has noticed."""
    for _ in range(_LOOKS):
        found = read_slot(connection, name)
        if found is None or found.active_pid is None:
            return found
        time.sleep(_LOOK_S)
    return found


def create_slot(
    replication: psycopg.Connection,
    config: PostgresSourceConfig,
    version: int,
    *,
    export: bool = True,
) -> CreatedSlot:
    """Create the slot; waits for the transactions that are running now.

    The exported snapshot can be taken up by other connections until the next command on this one.
    """
    command = f"CREATE_REPLICATION_SLOT {quote(config.slot)} LOGICAL {PLUGIN}"
    if version < _OPTIONS_SINCE:
        command += " EXPORT_SNAPSHOT" if export else " NOEXPORT_SNAPSHOT"
    else:
        options = [f"SNAPSHOT {literal('export' if export else 'nothing')}"]
        on_standby = replication.info.parameter_status("in_hot_standby") == "on"
        if config.failover and version >= _FAILOVER_SINCE and not on_standby:
            options.append("FAILOVER")
        command += f" ({', '.join(options)})"
    with translated(config.slot, _may_replicate(replication)):
        row = replication.execute(command.encode()).fetchone()
    if row is None:
        raise AssertionError("CREATE_REPLICATION_SLOT gives one row")
    return CreatedSlot(parse_lsn(row[1]), row[2])


def create_slot_by_sql(
    connection: psycopg.Connection, config: PostgresSourceConfig, version: int
) -> int:
    """Create the slot where there is no replication connection; no snapshot comes with it.

    Returns the position whose later changes are sent. It waits for transactions, too.
    """
    arguments = [literal(config.slot), literal(PLUGIN)]
    on_standby = connection.info.parameter_status("in_hot_standby") == "on"
    if config.failover and version >= _FAILOVER_SINCE and not on_standby:
        arguments.append("failover => true")
    command = f"SELECT lsn::text FROM pg_create_logical_replication_slot({', '.join(arguments)})"
    with translated(config.slot, _may_replicate(connection)):
        row = connection.execute(command.encode()).fetchone()
    if row is None:
        raise AssertionError("pg_create_logical_replication_slot gives one row")
    return parse_lsn(row[0])


def drop_slot(connection: psycopg.Connection, name: str) -> bool:
    """Drop the slot; whether there was one."""
    with translated(name, _may_replicate(connection)):
        try:
            connection.execute("SELECT pg_drop_replication_slot(%s)", (name,))
        except errors.UndefinedObject:
            return False
    return True


def check_slot(
    facts: SlotFacts | None,
    config: PostgresSourceConfig,
    server: ServerFacts,
    resume_lsn: int | None,
) -> None:
    """Refuse a slot that cannot give every change since `resume_lsn` (INV-9).

    Without a position to resume from nothing can be missing: a slot that is absent or lost passes.
    """
    if facts is None:
        if resume_lsn is not None:
            raise GapError("postgres-slot-missing", "the slot does not exist", where=config.slot)
        return
    _check_kind(facts, server)
    if resume_lsn is not None:
        _check_reach(facts, resume_lsn)
    if facts.active_pid is not None:
        raise TransientError(
            "postgres-slot-active", f"{facts.active_by} reads from the slot", where=facts.name
        )


def _may_replicate(connection: psycopg.Connection) -> str:
    return f"ALTER ROLE {quote(connection.info.user)} REPLICATION"


def _check_kind(facts: SlotFacts, server: ServerFacts) -> None:
    wrong = ""
    if facts.plugin != PLUGIN:
        wrong = f"its plugin is {facts.plugin or 'none: it is physical'}, not {PLUGIN}"
    elif facts.database != server.database:
        wrong = f"it belongs to database {facts.database!r}, not {server.database!r}"
    elif facts.temporary:
        wrong = "it is temporary"
    if wrong:
        raise ConfigError("postgres-slot-wrong", wrong, where=facts.name)
    if facts.two_phase:
        raise ConfigError("postgres-two-phase", "the slot has two_phase on", where=facts.name)


def _check_reach(facts: SlotFacts, resume_lsn: int) -> None:
    if facts.is_lost or facts.confirmed_flush_lsn is None:
        reason = f": {facts.invalidation}" if facts.invalidation else ""
        raise GapError("postgres-wal-lost", f"the slot is lost{reason}", where=facts.name)
    if facts.confirmed_flush_lsn > resume_lsn:
        raise GapError(
            "source-gap",
            f"the slot was confirmed up to {format_lsn(facts.confirmed_flush_lsn)}, but the log "
            f"holds changes only up to {format_lsn(resume_lsn)}: the slot was made anew, or "
            "another reader used it",
            where=facts.name,
        )


def _query(version: int) -> bytes:
    failover = "s.failover" if version >= 170000 else "false"
    invalidation = "NULL"
    if version >= 170000:
        invalidation = "s.invalidation_reason"
    elif version >= 160000:
        invalidation = "CASE WHEN s.conflicting THEN 'conflict with recovery' END"
    return f"""
        SELECT s.slot_name::text, s.plugin::text, s.database::text, s.temporary, s.two_phase,
               {failover}, s.active_pid, a.application_name, s.restart_lsn::text,
               s.confirmed_flush_lsn::text, s.wal_status, s.safe_wal_size, {invalidation},
               (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
                     ELSE pg_current_wal_lsn() END - s.restart_lsn)::bigint
        FROM pg_replication_slots s LEFT JOIN pg_stat_activity a ON a.pid = s.active_pid
        ORDER BY s.slot_name
    """.encode()


def _facts(row: psycopg.rows.TupleRow) -> SlotFacts:
    pid, application = row[6], row[7]
    return SlotFacts(
        name=row[0],
        plugin=row[1],
        database=row[2],
        temporary=row[3],
        two_phase=row[4],
        failover=row[5],
        active_pid=pid,
        active_by="" if pid is None else f"process {pid} ({application or 'unnamed'})",
        restart_lsn=None if row[8] is None else parse_lsn(row[8]),
        confirmed_flush_lsn=None if row[9] is None else parse_lsn(row[9]),
        wal_status=row[10],
        safe_wal_size=row[11],
        invalidation=row[12],
        retained_bytes=row[13],
    )
