"""The publication: whether it sends the chosen tables, whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headwater.app.doctor.postgres.listed import listed
from headwater.app.finding import Finding, Severity

if TYPE_CHECKING:
    from headwater.app.doctor.postgres.facts import PostgresFacts


def publication_checks(facts: PostgresFacts) -> list[Finding]:
    """Findings about the publication; what a start would correct itself is a warning."""
    from headwater.source.postgres.server.publication import drift

    name = facts.config.publication
    if not facts.tables:
        return []
    found = drift(facts.publication, facts.tables)
    # A table without replica identity is another finding; publishing it would do harm.
    found = replace(found, missing=tuple(each for each in found.missing if each.has_identity))
    fix = "; ".join((*found.sql(name), "")).strip()
    # A start makes it as chosen, if the role owns the tables; only the server knows for sure.
    severity: Severity = "warning" if facts.config.create else "error"
    if not found.exists:
        text = f"{name} does not exist"
        text += "; the first start makes it, if the role owns the tables" * facts.config.create
        return [Finding("publication", severity, text, "postgres-publication", fix, 2)]
    wrong = []
    if found.missing:
        wrong.append(f"lacks {listed(each.table for each in found.missing)}")
    if found.unwanted:
        wrong.append(f"also sends {listed(found.unwanted)}")
    if found.partial:
        wrong.append(f"has a row filter or column list on {listed(found.partial)}")
    if found.incomplete:
        wrong.append("leaves out kinds of change, or names partitions instead of their table")
    if wrong:
        text = f"{name} {'; '.join(wrong)}"
        return [Finding("publication", severity, text, "postgres-publication", fix, 2)]
    return [Finding("publication", "ok", f"{name} sends the chosen tables, whole")]
