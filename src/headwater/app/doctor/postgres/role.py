"""The role: what it may do, and whether its password and rows travel encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwater.app.doctor.postgres.listed import listed
from headwater.app.finding import Finding

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts


def role_checks(facts: PostgresFacts) -> list[Finding]:
    """Findings about the connected role and its connection."""
    return [_connection(facts), _replication(facts), *_reading(facts)]


def _connection(facts: PostgresFacts) -> Finding:
    role = facts.role
    if role.tls:
        return Finding("encryption", "ok", f"{role.tls_version}")
    if role.remote:
        text = f"the connection to {role.address} is not encrypted"
        fix = "add sslmode=verify-full and sslrootcert to the source; in the server: ssl = on"
        return Finding("encryption", "warning", text, "postgres-plaintext", fix)
    return Finding("encryption", "ok", "not encrypted, and it does not leave this machine")


def _replication(facts: PostgresFacts) -> Finding:
    from headwater.source.postgres.names import quote

    role = facts.role
    if not role.replication:
        fix = f"ALTER ROLE {quote(role.name)} REPLICATION;"
        text = f"role {role.name} may not read the replication stream"
        return Finding("role", "error", text, "postgres-privilege", fix, 2)
    if role.superuser:
        fix = "headwater setup postgres URL --role NAME gives another role just what it needs"
        text = f"role {role.name} is a superuser; capture needs much less"
        return Finding("role", "warning", text, "postgres-superuser", fix)
    return Finding("role", "ok", f"{role.name} has REPLICATION and no more than it needs")


def _reading(facts: PostgresFacts) -> list[Finding]:
    from headwater.source.postgres.names import quote, quote_table

    user = quote(facts.role.name)
    closed = [each.table for each in facts.tables if not each.readable]
    findings = []
    if closed:
        schemas = sorted({quote(table.schema) for table in closed if table.schema})
        usage = "".join(f"GRANT USAGE ON SCHEMA {schema} TO {user}; " for schema in schemas)
        select = f"GRANT SELECT ON {', '.join(map(quote_table, closed))} TO {user};"
        text = f"no right to read {listed(closed)}"
        findings.append(Finding("rights", "error", text, "postgres-privilege", usage + select, 2))
    guarded = [each.table for each in facts.tables if each.oid in facts.guarded]
    if guarded:
        text = f"row security could hide rows of {listed(guarded)}"
        fix = f"ALTER ROLE {user} BYPASSRLS;"
        findings.append(Finding("rights", "error", text, "postgres-privilege", fix, 2))
    return findings or [Finding("rights", "ok", f"may read all {len(facts.tables)} tables")]
