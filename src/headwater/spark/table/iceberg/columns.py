"""An Iceberg table's columns: known by number, and rows of any snapshot under today's names."""

from __future__ import annotations

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from headwater.spark.change.lineage import Held
from headwater.spark.sql import quoted
from headwater.spark.table.iceberg.history import History
from headwater.spark.table.shape import COLUMNS, TableShape, remembered

_WIDER = {("int", "bigint"), ("float", "double")}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_ARRAY = re.compile(r"array<(.+)>")


def shape_of(history: History, schema: StructType) -> TableShape:
    """The columns as they are now; each is known by its number, which never changes."""
    numbers = {name: number for number, name in history.columns.items()}
    columns = [
        Held(each.name, each.dataType.simpleString(), str(numbers[each.name]), widens=widens)
        for each in schema.fields
    ]
    return remembered(columns, history.properties.get(COLUMNS))


def widens(old: str, new: str) -> bool:
    """Whether Iceberg lets a column of the old type become one of the new."""
    inner, outer = _ARRAY.fullmatch(old), _ARRAY.fullmatch(new)
    if inner and outer:
        return widens(inner[1], outer[1])
    less, more = _DECIMAL.fullmatch(old), _DECIMAL.fullmatch(new)
    if less and more:
        return less[2] == more[2] and int(less[1]) < int(more[1])
    return (old, new) in _WIDER


def as_now(rows: DataFrame, then: int, history: History, schema: StructType) -> DataFrame:
    """Rows of a snapshot from before the columns changed, with today's names and types.

    Iceberg shows a snapshot with the columns of its time.
    """
    old = {name: history.shapes[then].get(number) for number, name in history.columns.items()}
    columns = []
    for each in schema.fields:
        known = old[each.name]
        value = f.lit(None) if known is None else f.col(quoted(known))
        columns.append(value.cast(each.dataType).alias(each.name))
    return rows.select(*columns)
