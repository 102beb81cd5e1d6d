"""The triggers of one captured table, as pure SQL text.

A trigger's name holds the number of its generation, so that whatever later happens to the table's
name, its changes are still read with the column list that wrote them. SQLite fires the youngest
trigger first: ours must be younger than the application's, or a change that an application's
trigger makes would be recorded before the change that caused it.
"""

from __future__ import annotations

from dataclasses import dataclass

from headwater.source.sqlite.cascade import cascade_triggers
from headwater.source.sqlite.guard import guard_triggers, needs_guard, settled_before
from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.identity import has_identity
from headwater.source.sqlite.introspect import PREFIX, Table
from headwater.source.sqlite.layout import (
    CHANGE,
    CHANGE_FIXED_COLUMNS,
    NOW_MS,
    OP_DELETE,
    OP_INSERT,
    OP_UPDATE,
    new_columns,
    old_columns,
)

DEFAULT_COLUMN_LIMIT = 2000


@dataclass(frozen=True, slots=True)
class TriggerText:
    """One trigger to create. `records` tells the three that write changes from their guards."""

    name: str
    sql: str
    records: bool


def trigger_name(capture_no: int, suffix: str) -> str:
    """The name of one trigger of a generation."""
    return f"{PREFIX}{capture_no}_{suffix}"


def capture_triggers(
    table: Table, capture_no: int, columns: tuple[str, ...] | None = None
) -> tuple[TriggerText, ...]:
    """Every trigger of a generation, in the order in which to create them."""
    names = columns or tuple(column.name for column in table.columns)
    texts = [
        TriggerText(name, f"CREATE TRIGGER {quote(name)} {body}", suffix in _RECORDING)
        for suffix, body in (
            *cascade_triggers(table, capture_no, names),
            *_recording_triggers(table, capture_no, names),
            *guard_triggers(table, capture_no, names),
        )
        for name in (trigger_name(capture_no, suffix),)
    ]
    return tuple(texts)


def refusal(table: Table, column_limit: int = DEFAULT_COLUMN_LIMIT) -> str | None:
    """Why this table cannot be captured, or None if it can."""
    kinds = {
        "view": "it is a view; capture the tables beneath it",
        "virtual": "it is a virtual table, on which SQLite allows no triggers",
        "shadow": "it belongs to a virtual table, which keeps its own data in it",
    }
    widest = (column_limit - CHANGE_FIXED_COLUMNS) // 2
    if table.kind in kinds:
        return kinds[table.kind]
    if table.name.lower().startswith("sqlite_"):
        return "it is one of SQLite's own tables"
    if table.name.startswith(PREFIX):
        return "it is one of Headwater's own tables"
    if len(table.columns) > widest:
        return (
            f"it has {len(table.columns)} columns; both images of a change must fit into one row, "
            f"which leaves room for {widest}"
        )
    if needs_guard(table) and not has_identity(table):
        return (
            "its columns take every name of the rowid (rowid, _rowid_, oid), so a row that REPLACE "
            "removes could not be told from others; rename one of them"
        )
    return None


_RECORDING = frozenset({"insert", "update", "delete"})


def _recording_triggers(
    table: Table, capture_no: int, columns: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    before = ", ".join(old_columns(len(columns)))
    after = ", ".join(new_columns(len(columns)))
    old = ", ".join(f"OLD.{quote(column)}" for column in columns)
    new = ", ".join(f"NEW.{quote(column)}" for column in columns)

    settled = settled_before(table, capture_no, columns)
    unless = f" WHEN NOT {settled}" if settled else ""

    def body(event: str, op: str, names: str, values: str, when: str = "") -> str:
        return (
            f"AFTER {event} ON {quote(table.name)}{when} BEGIN "
            f"INSERT INTO {CHANGE} (capture_no, op, ts_ms, {names}) "
            f"VALUES ({capture_no}, '{op}', {NOW_MS}, {values}); END"
        )

    return (
        ("insert", body("INSERT", OP_INSERT, after, new)),
        ("update", body("UPDATE", OP_UPDATE, f"{before}, {after}", f"{old}, {new}")),
        ("delete", body("DELETE", OP_DELETE, before, old, unless)),
    )
