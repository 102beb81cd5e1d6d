"""The tables: whether their changes can be told apart, and what of them is not captured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwater.app.doctor.postgres.listed import listed
from headwater.app.finding import Finding

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts
    from headwater.event import TableId
    from headwater.source.postgres.server.catalog import TableFacts

_WIDE_COLUMNS = 30


def table_checks(facts: PostgresFacts) -> list[Finding]:
    """Findings about the chosen tables."""
    if not facts.tables:
        patterns = ", ".join(facts.config.tables)
        fix = "correct source.tables; headwater init --from URL lists the tables"
        return [Finding("tables", "error", f"none matches {patterns}", "postgres-no-table", fix, 2)]
    findings = [
        *_identities(facts),
        *_keys(facts),
        *_deferrable(facts),
        *_wide(facts),
        *_left_out(facts),
    ]
    if any(each.severity == "error" for each in findings):
        return findings
    return [Finding("tables", "ok", f"{len(facts.tables)} can be captured"), *findings]


def _identities(facts: PostgresFacts) -> list[Finding]:
    from headwater.source.postgres.names import quote_table

    findings = []
    for table in facts.tables:
        if table.has_identity:
            continue
        name = quote_table(table.table)
        nothing = table.identity == "n"
        key = "only a DEFERRABLE primary key" if table.deferrable else "no primary key"
        text = f"{table.table} has {'REPLICA IDENTITY NOTHING' if nothing else key}"
        text += ": published, it would refuse updates and deletes"
        to = "DEFAULT" if nothing and table.primary_key else "FULL"
        fix = f"ALTER TABLE {name} REPLICA IDENTITY {to};"
        findings.append(Finding("replica identity", "error", text, "postgres-no-identity", fix, 2))
    return findings


def _keys(facts: PostgresFacts) -> list[Finding]:
    keyless = [
        each.table
        for each in facts.tables
        if each.has_identity and not each.key and not each.deferrable
    ]
    if not keyless:
        return []
    text = f"no key in {listed(keyless)}: equal rows cannot be told apart, nor mirrored in Delta"
    fix = f"ALTER TABLE {_first(keyless)} ADD PRIMARY KEY (…);"
    return [Finding("keys", "warning", text, "postgres-no-key", fix)]


def _deferrable(facts: PostgresFacts) -> list[Finding]:
    from headwater.source.postgres.names import quote, quote_table

    late = [each for each in facts.tables if each.deferrable and not each.key]
    if not late:
        return []
    names = listed(each.table for each in late)
    text = f"DEFERRABLE, so no key, in {names}: rows may pass through each other's keys"
    name, *columns = late[0].deferrable
    fix = f"ALTER TABLE {quote_table(late[0].table)} DROP CONSTRAINT {quote(name)},"
    fix += f" ADD PRIMARY KEY ({', '.join(map(quote, columns))});"
    return [Finding("deferrable keys", "warning", text, "postgres-deferrable-key", fix)]


def _wide(facts: PostgresFacts) -> list[Finding]:
    wide = [each for each in facts.tables if _costs_much(each)]
    if not wide:
        return []
    names = listed(each.table for each in wide)
    text = f"REPLICA IDENTITY FULL on {names}: every update writes all old columns to the log"
    fix = f"ALTER TABLE {_first([each.table for each in wide])} REPLICA IDENTITY DEFAULT;"
    fix += " if you can do without the row before the change"
    return [Finding("replica identity", "warning", text, "postgres-identity-full", fix)]


def _costs_much(table: TableFacts) -> bool:
    return table.identity == "f" and bool(table.primary_key) and len(table.columns) >= _WIDE_COLUMNS


def _left_out(facts: PostgresFacts) -> list[Finding]:
    findings = []
    if facts.unlogged:
        text = f"unlogged, so never in the server's log: {listed(facts.unlogged)}"
        fix = f"ALTER TABLE {_first(facts.unlogged)} SET LOGGED; or name it in source.exclude"
        findings.append(Finding("unlogged tables", "warning", text, "postgres-unlogged", fix))
    generated = [
        f"{each.table}.{column.name}"
        for each in facts.tables
        for column in each.columns
        if column.generated
    ]
    if generated:
        text = f"not captured, because the stream does not carry them: {listed(generated)}"
        findings.append(Finding("generated columns", "info", text, "postgres-generated"))
    return findings


def _first(tables: Sequence[TableId]) -> str:
    from headwater.source.postgres.names import quote_table

    return quote_table(tables[0])
