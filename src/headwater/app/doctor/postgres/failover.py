"""Failover: whether a standby that takes over would have the slot, and not be behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.app.finding import Finding

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts

_SINCE = 170000


def failover_checks(facts: PostgresFacts) -> list[Finding]:
    """Findings for servers that have standbys; others have nothing to fail over to."""
    slot = facts.slot
    if not facts.standbys or facts.server.in_recovery:
        return []
    if facts.server.version_num < _SINCE:
        text = "before PostgreSQL 17 a standby does not have the slot: a failover is a gap"
        fix = "upgrade to PostgreSQL 17, or set source.on_gap: resnapshot"
        return [Finding("failover", "warning", text, "postgres-failover", fix)]
    if slot is not None and not slot.failover:
        text = f"{slot.name} is not kept by standbys"
        fix = f"ALTER_REPLICATION_SLOT {slot.name} (FAILOVER true)  on a replication connection"
        return [Finding("failover", "warning", text, "postgres-failover", fix)]
    if not facts.settings.get("synchronized_standby_slots"):
        text = "capture may be ahead of the standbys: after a failover the log would know more"
        fix = "ALTER SYSTEM SET synchronized_standby_slots = 'STANDBY_SLOT'; "
        fix += "on the standby: sync_replication_slots = on, hot_standby_feedback = on"
        return [Finding("failover", "warning", text, "postgres-failover", fix)]
    return [Finding("failover", "ok", "standbys keep the slot and are waited for")]
