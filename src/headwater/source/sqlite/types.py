"""From SQLite's declared types to logical types, and to the table schemas of the history.

SQLite gives a column an affinity, not a type. Where the affinity decides what is normally stored,
the logical type says so; NUMERIC affinity (DECIMAL, DATE, BOOLEAN …) decides nothing, so such a
column is dynamic and each value carries its own type.
"""

from __future__ import annotations

from headwater.event import Column, ForeignKey, Kind, LogicalType, TableId, TableSchema
from headwater.source.sqlite.generation import Generation
from headwater.source.sqlite.introspect import Database, Table
from headwater.source.sqlite.numbers import Numbers

# The order is SQLite's own: the first word found in the declared type decides.
_AFFINITIES = (
    (("INT",), Kind.INT64),
    (("CHAR", "CLOB", "TEXT"), Kind.STRING),
    (("BLOB",), Kind.BINARY),
    (("REAL", "FLOA", "DOUB"), Kind.FLOAT64),
)


def logical_type(declared: str) -> LogicalType:
    """The logical type of a declared one."""
    words = declared.upper()
    for fragments, kind in _AFFINITIES:
        if any(fragment in words for fragment in fragments):
            return LogicalType(kind)
    return LogicalType(Kind.DYNAMIC)


def table_schema(generation: Generation, numbers: Numbers, database: Database) -> TableSchema:
    """The schema under which a generation's changes are read."""
    table = database.table(generation.table)
    return TableSchema(
        table=TableId(None, generation.table),
        columns=tuple(
            Column(
                name=column.name,
                type=logical_type(column.declared),
                nullable=not column.not_null and column.name not in generation.key,
                declared=column.declared,
                generated=column.generated,
                number=number,
            )
            for column, number in zip(generation.columns, numbers, strict=True)
        ),
        primary_key=generation.key,
        foreign_keys=_foreign_keys(table, database),
    )


def _foreign_keys(table: Table | None, database: Database) -> tuple[ForeignKey, ...]:
    if table is None:
        return ()
    keys = []
    for key in table.foreign_keys:
        parent = database.table(key.parent)
        implied = parent.key if parent is not None else ()
        keys.append(
            ForeignKey(
                columns=key.columns,
                references=TableId(None, key.parent),
                referenced_columns=key.parent_columns or implied,
                on_delete=key.on_delete,
            )
        )
    return tuple(keys)
