"""Rows of an older shape of a table, and whether they can be compared as rows of the newest.

A column that came or went is NULL where a shape lacks it. One that has another name or type by now
is brought after the source by the target's stream, in order with the rows: here it would be taken
for one that is gone, and every row would differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from headwater.contract import SchemaHistory
from headwater.errors import TransientError
from headwater.event import Column, Kind, LogicalType, TableSchema

_INTEGERS = (Kind.INT16, Kind.INT32, Kind.INT64)


class Shapes:
    """The shapes of tables that are compared, each as its given one, the newest."""

    def __init__(self, history: SchemaHistory, newest: Sequence[TableSchema]) -> None:
        self._newest = {schema.table: schema for schema in newest}
        versions = [each for each in history.schemas() if each[1].table in self._newest]
        self._versions = [(first, str(schema.table), schema) for first, schema in versions]
        self._other = {
            schema.schema_id: column
            for _, _, schema in self._versions
            if (column := _changed(schema, self._newest[schema.table])) is not None
        }

    def refusal(self, table: str, schema_id: int) -> TransientError | None:
        """Why rows of this shape cannot be compared; None if they can."""
        column = self._other.get(schema_id)
        if column is None:
            return None
        return TransientError(
            "verify-behind",
            f"column {column.name} has another name or type in what the table is still to take",
            where=table,
        )

    def refusal_at(self, table: str, sequence: int) -> TransientError | None:
        """Why a target that stands there cannot be compared: it has that moment's shape."""
        shape = None
        for first, name, schema in self._versions:
            if name == table and first <= sequence:
                shape = schema
        return None if shape is None else self.refusal(table, shape.schema_id)


def _changed(old: TableSchema, new: TableSchema) -> Column | None:
    """A column of the old shape that is in the new one under another name, or written otherwise."""
    for column in old.columns:
        now = _same(column, new)
        if now is None:
            continue
        if now.name != column.name or _written(now.type) != _written(column.type):
            return column
    return None


def _same(column: Column, shape: TableSchema) -> Column | None:
    """The column in another shape: by its number, and by its name where one has no number."""
    if column.number is not None:
        for each in shape.columns:
            if each.number == column.number:
                return each
    named = shape.column(column.name)
    known = named is not None and None not in (named.number, column.number)
    return None if known else named


def _written(logical: LogicalType) -> object:
    """What is equal for types that write one value in one way."""
    match logical.kind:
        case kind if kind in _INTEGERS:
            return _INTEGERS
        case Kind.DECIMAL:
            return Kind.DECIMAL, logical.scale
        case Kind.ARRAY if logical.element is not None:
            return Kind.ARRAY, _written(logical.element)
        case _:
            return logical
