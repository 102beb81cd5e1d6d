"""A Delta table's columns: read from its log, and what it must be able to do to change them.

Names and types can change without rewriting files only in a table that keeps the two apart (column
mapping) and may hold files of a narrower type (type widening). Older readers of Delta know neither:
so a table learns them when it needs them first, and not before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql.types import StructType

from headwater.spark.change.lineage import Held
from headwater.spark.table.alteration import NOT_IN_FILES, Alteration
from headwater.spark.table.deltalog import VECTORS
from headwater.spark.table.shape import COLUMNS, TableShape, remembered

_MAPS_NAMES = "'delta.columnMapping.mode' = 'name'"
_WIDENS = "'delta.enableTypeWidening' = 'true'"
_NTZ = "'delta.feature.timestampNtz' = 'supported'"
_PHYSICAL = "delta.columnMapping.physicalName"


def shape_of(snapshot: Any) -> TableShape:
    """The columns of a version; each is known by its name in the files, which never changes."""
    fields = StructType.fromJson(json.loads(snapshot.schema().json())).fields
    columns = [
        Held(each.name, each.dataType.simpleString(), each.metadata.get(_PHYSICAL, each.name))
        for each in fields
    ]
    found = snapshot.metadata().configuration().get(COLUMNS)
    return remembered(columns, str(found.get()) if found.isDefined() else None)


def statements(table: str, alterations: Sequence[Alteration]) -> tuple[str, ...]:
    """The statements, after the one that makes the table able to take them."""
    tails = [each.tail for each in alterations]
    needs = [
        *([_MAPS_NAMES] if any(each.maps_names for each in alterations) else ()),
        *([_WIDENS] if any(each.widens for each in alterations) else ()),
        *([_NTZ] if any("timestamp_ntz" in tail for tail in tails) else ()),
    ]
    enabled = [f"ALTER TABLE {table} SET TBLPROPERTIES ({', '.join(needs)})"] if needs else []
    return (*enabled, *(each.on(table) for each in alterations))


def table_properties(names: Iterable[str], *, vectors: bool) -> str:
    """The properties of a new table, which may mark rows as deleted (`vectors`) or not."""
    odd = any(NOT_IN_FILES.intersection(name) for name in names)
    marks = f"'{VECTORS}' = '{str(vectors).lower()}'"
    return f"{marks}, {_MAPS_NAMES}" if odd else marks
