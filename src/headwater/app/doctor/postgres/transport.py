"""The transport: which way the slot will be read, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.app.finding import Finding

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts


def transport_checks(facts: PostgresFacts) -> list[Finding]:
    """One finding; what may pass is retried by a start, and no reason for SQL."""
    from headwater.source.postgres.server.transport import COST

    refusal = facts.refusal
    if facts.by_sql:
        if refusal is None:
            return [Finding("transport", "info", f"by SQL, as source.transport says: {COST}")]
        text = f"by SQL, because there is no replication connection ({refusal.message}): {COST}"
        return [Finding("transport", "warning", text, refusal.code, refusal.hint)]
    if refusal is not None and refusal.retryable:
        text = f"a replication connection, which is refused for now: {refusal.message}"
        return [Finding("transport", "warning", text, refusal.code, refusal.hint)]
    if refusal is not None:
        return [Finding.of("transport", refusal)]
    return [Finding("transport", "ok", "a replication connection")]
