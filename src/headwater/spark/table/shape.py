"""The columns that a table has, and which columns of the source they are. Pure.

A table remembers the source's numbers of its columns in a property, beside what its format knows a
column by for ever: so a column that was renamed here and there is still found, wherever a process
ended in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.change.kinds import logical_of
from headwater.spark.change.lineage import Held
from headwater.spark.table.layout import PREFIX

COLUMNS = "headwater.columns"


@dataclass(frozen=True, slots=True)
class TableShape:
    """The source's columns in a table that stands; `key` are their places, None if not known."""

    columns: tuple[Held, ...]
    key: frozenset[str] | None = None


def remembered(columns: Iterable[Held], text: str | None) -> TableShape:
    """The shape of a table with these columns that remembers this."""
    said = {} if text is None else json.loads(text)
    numbers: dict[str, int | None] = dict(said.get("columns", ()))
    known = (
        replace(each, number=numbers.get(each.place), ours=each.place in numbers)
        for each in columns
        if not each.name.startswith(PREFIX)
    )
    key = said.get("key")
    return TableShape(tuple(known), None if key is None else frozenset(key))


def columns_of(shape: TableShape | None, table: TableId) -> TableSchema:
    """The source's columns of a table that stands, under their names there."""
    held = () if shape is None else tuple(each for each in shape.columns if each.ours)
    key = frozenset[str]() if shape is None or shape.key is None else shape.key
    text = LogicalType(Kind.STRING)
    return TableSchema(
        table,
        tuple(
            Column(each.name, logical_of(each.kind) or text, number=each.number) for each in held
        ),
        tuple(each.name for each in held if each.place in key),
    )


def memory(columns: Sequence[tuple[str, int | None]], key: Iterable[str]) -> str:
    """What a table is to remember of its columns: places and numbers, and the places of the key."""
    said = {"columns": [list(each) for each in columns], "key": sorted(key)}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def memory_of(schema: TableSchema) -> str:
    """The same for a new table, in which a column's place is its name."""
    return memory([(each.name, each.number) for each in schema.columns], schema.primary_key)
