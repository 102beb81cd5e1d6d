"""Drift: how a database has moved away from what was installed in it. Pure.

SQLite rewrites triggers when a table or column is renamed, keeps them when a column is added,
refuses to drop a column that they name, and drops them silently together with a table that is
rebuilt. So the triggers' own text, not only the recorded column list, tells what happened.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from headwater.source.sqlite.generation import Generation, Installed, Trust
from headwater.source.sqlite.identifiers import fold
from headwater.source.sqlite.introspect import PREFIX, Database, Table, Trigger
from headwater.source.sqlite.tokens import new_columns
from headwater.source.sqlite.triggers import capture_triggers, trigger_name


class DriftKind(Enum):
    """What happened to a captured table."""

    UP_TO_DATE = "up to date"
    COLUMNS_ADDED = "columns added"
    COLUMNS_RENAMED = "columns renamed"
    TABLE_RENAMED = "table renamed"
    KEY_CHANGED = "key changed"
    GUARDS_STALE = "unique constraints changed"
    OUTRANKED = "a younger trigger fires first"
    TRIGGERS_ALTERED = "triggers altered"
    TRIGGERS_MISSING = "triggers missing"
    TABLE_GONE = "table gone"

    @property
    def trust(self) -> Trust:
        """Whether changes since the drift began are all recorded, may be wrong, or are missing."""
        return _TRUST.get(self, Trust.INTACT)


_TRUST = {
    # A key can only change by rebuilding the table, and a rebuilt table was not watched.
    DriftKind.KEY_CHANGED: Trust.BROKEN,
    DriftKind.GUARDS_STALE: Trust.DOUBTFUL,
    DriftKind.OUTRANKED: Trust.DOUBTFUL,
    DriftKind.TRIGGERS_ALTERED: Trust.BROKEN,
    DriftKind.TRIGGERS_MISSING: Trust.BROKEN,
    DriftKind.TABLE_GONE: Trust.BROKEN,
}


@dataclass(frozen=True, slots=True)
class Drift:
    """One finding about one captured table. `table` is its name in the database now."""

    table: str
    capture_no: int
    kind: DriftKind
    detail: str = ""


def drift(introspected: Database, installed: Installed) -> tuple[Drift, ...]:
    """Every finding about every captured table; a table without one is UP_TO_DATE."""
    return tuple(
        finding for generation in installed.active for finding in _examine(introspected, generation)
    )


def worst(findings: tuple[Drift, ...]) -> Trust:
    """The trust that remains after all of these findings."""
    trusts = {finding.kind.trust for finding in findings}
    order = (Trust.BROKEN, Trust.DOUBTFUL, Trust.INTACT)
    return next((trust for trust in order if trust in trusts), Trust.INTACT)


def _examine(database: Database, generation: Generation) -> tuple[Drift, ...]:
    number = generation.capture_no
    standing = {t.name: t for t in database.triggers if _belongs(t, number)}
    insert = standing.get(trigger_name(number, "insert"))
    table = database.table(insert.table if insert else generation.table)
    if table is None:
        return (Drift(generation.table, number, DriftKind.TABLE_GONE),)
    findings = tuple(
        Drift(table.name, number, kind, detail)
        for kind, detail in _findings(database, generation, table, standing)
    )
    return findings or (Drift(table.name, number, DriftKind.UP_TO_DATE),)


def _findings(
    database: Database, generation: Generation, table: Table, standing: dict[str, Trigger]
) -> Iterator[tuple[DriftKind, str]]:
    insert = standing.get(trigger_name(generation.capture_no, "insert"))
    captured = new_columns(insert.sql) if insert else generation.column_names
    if table.name != generation.table:
        yield DriftKind.TABLE_RENAMED, f"{generation.table} is now {table.name}"
    yield from _column_findings(generation, table, captured)
    yield from _trigger_findings(generation.capture_no, table, captured, standing)
    first = min((trigger.order for trigger in standing.values()), default=0)
    younger = [
        trigger.name
        for trigger in database.triggers
        if standing
        and trigger.after
        and trigger.order > first
        and not trigger.name.startswith(PREFIX)
        and fold(trigger.table) == fold(table.name)
    ]
    if younger:
        yield DriftKind.OUTRANKED, ", ".join(younger)


def _column_findings(
    generation: Generation, table: Table, captured: tuple[str, ...]
) -> Iterator[tuple[DriftKind, str]]:
    pairs = [p for p in zip(generation.column_names, captured, strict=False) if p[0] != p[1]]
    renamed = dict(pairs)
    if pairs:
        yield DriftKind.COLUMNS_RENAMED, ", ".join(f"{old} is now {new}" for old, new in pairs)
    added = [column.name for column in table.columns if column.name not in captured]
    if added:
        yield DriftKind.COLUMNS_ADDED, ", ".join(added)
    if tuple(renamed.get(name, name) for name in generation.key) != table.key:
        yield DriftKind.KEY_CHANGED, f"({', '.join(generation.key)}) → ({', '.join(table.key)})"


def _trigger_findings(
    capture_no: int, table: Table, captured: tuple[str, ...], standing: dict[str, Trigger]
) -> Iterator[tuple[DriftKind, str]]:
    lost = [name for name in captured if table.column(name) is None]
    if lost:
        # Expected texts cannot even be written down: the table was rebuilt without the column.
        kind = DriftKind.TRIGGERS_ALTERED if standing else DriftKind.TRIGGERS_MISSING
        yield kind, f"no column {', '.join(lost)}"
        return
    expected = capture_triggers(table, capture_no, captured)
    recording = [text for text in expected if text.records]
    missing = [text.name for text in recording if text.name not in standing]
    if missing:
        yield DriftKind.TRIGGERS_MISSING, ", ".join(missing)
        return
    # Whether rows are disturbed shows in the delete trigger too, but it records either way.
    other = replace(table, disturbed=not table.disturbed)
    alike = {text.sql for text in (*expected, *capture_triggers(other, capture_no, captured))}
    altered = [text.name for text in recording if standing[text.name].sql not in alike]
    if altered:
        yield DriftKind.TRIGGERS_ALTERED, ", ".join(altered)
    wanted = {text.name: text.sql for text in expected if text.name not in altered}
    actual = {t.name: t.sql for t in standing.values() if t.name not in altered}
    if wanted != actual:
        names = sorted(n for n in wanted.keys() | actual.keys() if wanted.get(n) != actual.get(n))
        yield DriftKind.GUARDS_STALE, ", ".join(names)


def _belongs(trigger: Trigger, capture_no: int) -> bool:
    return trigger.name.startswith(trigger_name(capture_no, ""))
