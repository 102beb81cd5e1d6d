"""The slot: whether it can give what the log lacks, and what it costs the server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.app.finding import Finding, Severity
from headwater.errors import HeadwaterError

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts
    from headwater.source.postgres.server.slot import SlotFacts

_WARN_AT = 0.5
_FAIL_AT = 0.8
_OLD_S = 3600.0
_HELD_BYTES = 1 << 30
_MIB = 1 << 20


def slot_checks(facts: PostgresFacts) -> list[Finding]:
    """Findings about the slot and the log that the server keeps for it."""
    slot = facts.slot
    if not facts.log_readable:
        return _limit(facts)  # without the log nobody knows what the slot must give
    if slot is None:
        return [*_absent(facts), *_limit(facts)]
    return [
        _state(facts, slot),
        *_retained(facts, slot),
        *_limit(facts),
        *_held(facts, slot),
    ]


def _absent(facts: PostgresFacts) -> list[Finding]:
    name = facts.config.slot
    if facts.resume is not None and not facts.resume.decided:
        text = f"{name} is gone, and with it the changes since the log's last one"
        fix = "choose source.on_gap: resnapshot to read the tables again, or accept to go on"
        return [Finding("slot", "error", text, "postgres-slot-missing", fix, 1)]
    if not facts.config.create:
        fix = f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput');"
        text = f"{name} does not exist, and source.create is false"
        return [Finding("slot", "error", text, "postgres-slot-missing", fix, 2)]
    return [Finding("slot", "info", f"{name} is made by the first start")]


def _state(facts: PostgresFacts, slot: SlotFacts) -> Finding:
    from headwater.source.postgres.server.facts import check_identity
    from headwater.source.postgres.server.slot import check_slot

    resume = facts.resume
    drop = f"headwater slots drop FILE {slot.name}"
    if resume is None:
        text = f"{slot.name} exists, and no log knows of it"
        fix = f"choose another name as source.slot, or: {drop}"
        return Finding("slot", "error", text, "postgres-slot-exists", fix, 2)
    try:
        check_identity(facts.server, system=resume.system, timeline=resume.timeline, lsn=resume.lsn)
        # Whoever reads it is judged below: while the pipeline runs, that is as it should be.
        free = replace(slot, active_pid=None)
        check_slot(free, facts.config, facts.server, None if resume.decided else resume.lsn)
    except HeadwaterError as exc:
        return Finding.of("slot", exc)
    if slot.active_pid is not None and not facts.running:
        text = f"{slot.active_by} reads {slot.name}, and the pipeline does not run here"
        fix = f"end it: SELECT pg_terminate_backend({slot.active_pid});"
        return Finding("slot", "warning", text, "postgres-slot-active", fix)
    between_looks = "looks" if facts.by_sql and facts.running else "nobody"
    reader = slot.active_by or between_looks
    return Finding("slot", "ok", f"{slot.name}, read by {reader}, has what the log lacks")


def _retained(facts: PostgresFacts, slot: SlotFacts) -> list[Finding]:
    limit, kept = facts.server.max_slot_wal_keep_bytes, slot.retained_bytes
    if kept is None or slot.is_lost:
        return []
    text = f"{kept / _MIB:,.1f} MiB kept for the slot"
    if limit is None:
        return [Finding("retained log", "ok", text)]
    share = kept / limit if limit else 1.0
    text += f", {share:.0%} of max_slot_wal_keep_size"
    if share < _WARN_AT:
        return [Finding("retained log", "ok", text)]
    fix = "start the pipeline, or give it time: "
    fix += f"ALTER SYSTEM SET max_slot_wal_keep_size = '{2 * limit // _MIB}MB'; "
    fix += "SELECT pg_reload_conf();"
    severity: Severity = "error" if share >= _FAIL_AT else "warning"
    return [Finding("retained log", severity, text, "postgres-wal-retained", fix, 1)]


def _limit(facts: PostgresFacts) -> list[Finding]:
    if facts.server.max_slot_wal_keep_bytes is not None:
        return []
    text = "unlimited: a pipeline that is stopped for long fills the server's disk"
    fix = "ALTER SYSTEM SET max_slot_wal_keep_size = '50GB'; SELECT pg_reload_conf();"
    return [Finding("max_slot_wal_keep_size", "warning", text, "postgres-wal-unlimited", fix)]


def _held(facts: PostgresFacts, slot: SlotFacts) -> list[Finding]:
    """An old transaction keeps the server from letting go of log that was read long ago."""
    oldest = facts.oldest
    if oldest is not None and oldest.age_s >= _OLD_S:
        text = f"{oldest.what} has been open for {oldest.age_s / 3600:.1f} h"
        text += " and holds the log back"
        fix = f"end it: {oldest.end_sql};"
        return [Finding("old transaction", "warning", text, "postgres-old-transaction", fix)]
    if slot.confirmed_flush_lsn is None or slot.restart_lsn is None:
        return []
    held = slot.confirmed_flush_lsn - slot.restart_lsn
    if held < _HELD_BYTES:
        return []
    text = f"{held / _MIB:,.0f} MiB are read but kept: a transaction has been open for long"
    fix = "SELECT pid, usename, xact_start FROM pg_stat_activity ORDER BY xact_start;"
    return [Finding("old transaction", "warning", text, "postgres-old-transaction", fix)]
