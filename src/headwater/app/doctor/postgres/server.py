"""The server: version, what it writes to its log, and how many may read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.app.finding import Finding

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts

_OLDEST_VERSION = 140000


def server_checks(facts: PostgresFacts) -> list[Finding]:
    """Findings about the server's own settings."""
    return [_version(facts), _wal_level(facts), *_limits(facts), *_timeouts(facts)]


def _version(facts: PostgresFacts) -> Finding:
    number = facts.server.version_num
    text = f"PostgreSQL {number // 10000}.{number % 10000} at {facts.where}"
    if number < _OLDEST_VERSION:
        fix = "upgrade the server to PostgreSQL 14 or newer"
        return Finding("server", "error", text, "postgres-version", fix, 2)
    return Finding("server", "ok", text)


def _wal_level(facts: PostgresFacts) -> Finding:
    level = facts.server.wal_level
    if level != "logical":
        fix = "ALTER SYSTEM SET wal_level = 'logical'; then restart the server"
        return Finding("wal_level", "error", level, "postgres-wal-level", fix, 2)
    return Finding("wal_level", "ok", level)


def _limits(facts: PostgresFacts) -> list[Finding]:
    slots = int(facts.settings["max_replication_slots"])
    senders = int(facts.settings["max_wal_senders"])
    slot = facts.slot
    needed = not facts.by_sql and (slot is None or slot.active_pid is None)
    return [
        _limit("max_replication_slots", slots, len(facts.slots), needed=slot is None),
        _limit("max_wal_senders", senders, facts.senders, needed=needed),
    ]


def _limit(name: str, allowed: int, used: int, *, needed: bool) -> Finding:
    text = f"{used} of {allowed} in use"
    if not needed or used < allowed:
        return Finding(name, "ok", text)
    fix = f"ALTER SYSTEM SET {name} = {allowed + 10}; then restart the server"
    if name == "max_replication_slots":
        fix += "; or drop an old slot: headwater slots list FILE"
    return Finding(name, "error", text, "postgres-limit", fix)


def _timeouts(facts: PostgresFacts) -> list[Finding]:
    findings = []
    timeout_ms = facts.server.wal_sender_timeout_ms
    interval_s = facts.config.status_interval_s
    if timeout_ms is not None and timeout_ms < 2000 * interval_s and not facts.by_sql:
        text = f"{timeout_ms} ms, and the server is told every {interval_s:g} s"
        fix = "ALTER SYSTEM SET wal_sender_timeout = '60s'; SELECT pg_reload_conf();"
        fix += " or lower source.status_interval"
        findings.append(Finding("wal_sender_timeout", "warning", text, "postgres-timeout", fix))
    idle = facts.settings.get("idle_replication_slot_timeout", "0")
    if idle != "0":
        text = f"{idle} s: the server gives up a slot that a stopped pipeline does not read"
        fix = "ALTER SYSTEM SET idle_replication_slot_timeout = 0; SELECT pg_reload_conf();"
        findings.append(
            Finding("idle_replication_slot_timeout", "warning", text, "postgres-timeout", fix)
        )
    return findings
