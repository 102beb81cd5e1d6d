"""The MERGE of a mirror: deletes, updates of what was sent, inserts of what is whole."""

from __future__ import annotations

from headwater.spark.change.changes import DELETED, MISSING, PARTIAL, SEQ, TableChanges
from headwater.spark.sql import literal, quoted
from headwater.spark.table.layout import SEQUENCE


def merge_sql(target: str, view: str, changes: TableChanges, within: str = "true") -> str:
    """The statement. The sequence guard makes an older change lose against a newer row.

    `within` is true of every row of the table that has one of the view's keys.
    """
    key = " AND ".join(f"t.{quoted(k)} <=> s.{quoted(k)}" for k in changes.schema.primary_key)
    newer = f"s.{SEQ} > t.{SEQUENCE}"
    updates = ", ".join(_update(name, may_lack=changes.merges) for name in changes.columns)
    names = ", ".join(map(quoted, changes.columns))
    values = ", ".join(f"s.{quoted(name)}" for name in changes.columns)
    insert = f"INSERT ({names}, {SEQUENCE}) VALUES ({values}, s.{SEQ})"
    clauses = [
        f"MERGE INTO {target} t USING {view} s ON {key} AND {within}",
        f"WHEN MATCHED AND {newer} AND s.{DELETED} THEN DELETE",
        f"WHEN MATCHED AND {newer} THEN UPDATE SET {updates}, t.{SEQUENCE} = s.{SEQ}",
        # A row of which the source sent only a part cannot be made from nothing (INV-10).
        f"WHEN NOT MATCHED AND NOT s.{DELETED} AND NOT s.{PARTIAL} THEN {insert}",
    ]
    if changes.emptied_at:
        clauses.append(
            f"WHEN NOT MATCHED BY SOURCE AND t.{SEQUENCE} < {changes.emptied_at} THEN DELETE"
        )
    return " ".join(clauses)


def _update(name: str, *, may_lack: bool) -> str:
    column = quoted(name)
    if not may_lack:
        return f"t.{column} = s.{column}"
    lacks = f"array_contains(s.{MISSING}, {literal(name)})"
    return f"t.{column} = CASE WHEN {lacks} THEN t.{column} ELSE s.{column} END"
