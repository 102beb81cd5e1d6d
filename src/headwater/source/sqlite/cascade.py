"""Rows that an update of their own key updates once more through ON UPDATE actions.

SQLite runs foreign-key actions before AFTER triggers. A row that refers to itself (a root whose
parent is itself) is therefore recorded in the wrong order when its key changes: first what the
action did to it, then the update that caused the action. Where foreign keys act on updates of the
table's key, one more trigger looks whether the row still is what the update made it. If not, the
records of the action on this row are folded into the update's record, whose after image becomes
the row as it is.

For the same reason such a row is out of sight of `guard` while its key moves: its old place is
empty though nothing replaced it. So a candidate is given up before its row moves.
"""

from __future__ import annotations

from collections.abc import Iterator

from headwater.source.sqlite.identifiers import quote
from headwater.source.sqlite.identity import has_identity, same_row
from headwater.source.sqlite.introspect import Table
from headwater.source.sqlite.layout import (
    CANDIDATE,
    CHANGE,
    NOW_MS,
    OP_UPDATE,
    OP_VOID,
    new_columns,
    old_columns,
)


def cascade_triggers(
    table: Table, capture_no: int, columns: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Both triggers; create them before the recording ones, so that the folding fires last."""
    if not table.key_cascades or not has_identity(table):
        return
    apart = f"NOT ({same_row(table, columns, 'NEW', 'OLD')})"
    mine = f"{CANDIDATE}.capture_no = {capture_no} AND {CANDIDATE}.settled = 0"
    yield (
        "before_move",
        (
            f"BEFORE UPDATE ON {quote(table.name)} WHEN {apart} BEGIN DELETE FROM {CANDIDATE} "
            f"WHERE {mine} AND {same_row(table, columns, CANDIDATE, 'OLD')}; END"
        ),
    )
    own = f"{quote(table.name)} AS held WHERE {same_row(table, columns, 'held', 'NEW')}"
    now = ", ".join(f"held.{quote(column)} COLLATE BINARY" for column in columns)
    new = ", ".join(f"NEW.{quote(column)}" for column in columns)
    images = old_columns(len(columns))
    newest = f"(SELECT max(change_id) FROM {CHANGE})"
    earlier = (
        f"capture_no = {capture_no} AND op = '{OP_UPDATE}' AND ts_ms = {NOW_MS} "
        f"AND change_id < {newest}"
    )
    first = (
        f"(SELECT change_id FROM {CHANGE} WHERE {earlier} "
        f"AND ({', '.join(images)}) IS ({new}) ORDER BY change_id DESC LIMIT 1)"
    )
    same_key = " AND ".join(
        f"{images[columns.index(column)]} IS NEW.{quote(column)}" for column in table.key
    )
    since = f"change_id >= {first} AND {same_key}" if same_key else f"change_id = {first}"
    current = ", ".join(
        f"{image} = (SELECT held.{quote(column)} FROM {own})"
        for image, column in zip(new_columns(len(columns)), columns, strict=True)
    )
    yield (
        "fold_update",
        (
            f"AFTER UPDATE ON {quote(table.name)} "
            f"WHEN EXISTS (SELECT 1 FROM {own} AND ({now}) IS NOT ({new})) BEGIN "
            f"UPDATE {CHANGE} SET op = '{OP_VOID}' WHERE {earlier} AND {since}; "
            f"UPDATE {CHANGE} SET {current} WHERE change_id = {newest}; END"
        ),
    )
