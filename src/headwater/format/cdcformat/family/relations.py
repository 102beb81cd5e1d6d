"""Relations: which tables of a transaction refer to which, by the schema history.

This is asked before any row is looked at: where no table refers to another, nothing is related.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headwater.contract import SchemaHistory
from headwater.event import TableId

Columns = tuple[str, ...]
Target = tuple[TableId, Columns]


@dataclass(frozen=True, slots=True)
class Relations:
    """Targets are columns of a table that rows refer to; they are known by their number.

    `refers` gives by schema id the columns that refer, and to which target; `referred` gives by
    table the targets that it has.
    """

    refers: Mapping[int, tuple[tuple[Columns, int], ...]]
    referred: Mapping[TableId, tuple[tuple[Columns, int], ...]]

    def __bool__(self) -> bool:
        return bool(self.refers)

    @classmethod
    def among(
        cls, tables: Iterable[TableId], schema_ids: Iterable[int], history: SchemaHistory
    ) -> Relations:
        """Those among these tables and shapes of tables; the shape 0 is not known."""
        present = set(tables)
        targets: dict[Target, int] = {}
        refers: dict[int, tuple[tuple[Columns, int], ...]] = {}
        for schema_id in filter(None, schema_ids):
            keys = [
                (key.columns, (key.references, key.referenced_columns))
                for key in history.schema(schema_id).foreign_keys
                if key.references in present and key.columns and key.referenced_columns
            ]
            if keys:
                refers[schema_id] = tuple(
                    (columns, targets.setdefault(target, len(targets))) for columns, target in keys
                )
        referred: dict[TableId, tuple[tuple[Columns, int], ...]] = {}
        for (table, columns), number in targets.items():
            referred[table] = (*referred.get(table, ()), (columns, number))
        return cls(refers, referred)
