"""The rows that a pile of changes amounts to, without a table that they could be merged into.

What a mirror makes of one micro-batch, made of all of them: the last change of each key, with what
earlier ones said where it says nothing (INV-10).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.change.changes import (
    AT,
    DELETED,
    MISSING,
    MOVED,
    PARTIAL,
    SEQ,
    TableChanges,
    flag,
    names_where,
)
from headwater.spark.change.kinds import logical_of
from headwater.spark.change.latest import latest_per_key
from headwater.spark.change.moves import completed
from headwater.spark.sql import quoted
from headwater.spark.table.layout import DELETED_FLAG, MOVED_FLAG, PREFIX, SEQUENCE, UNAVAILABLE

_NAMES = {SEQ: SEQUENCE, DELETED: DELETED_FLAG, MISSING: UNAVAILABLE, MOVED: MOVED_FLAG}


def appended(changes: DataFrame) -> DataFrame:
    """Changes of rows as they are kept; only what the source left out is named as left out."""
    unsent = f.when(f.col(PARTIAL), f.col(MISSING)).otherwise(names_where({}))
    return changes.withColumn(MISSING, unsent).drop(AT, PARTIAL).withColumnsRenamed(_NAMES)


def standing(kept: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows that kept changes amount to."""
    rows, partial, carrying = _as_changes(kept)
    changes = TableChanges(
        "changes", _schema(kept, key), {}, partial, truncated_at=None, carrying=carrying
    )
    if carrying:
        rows = completed(rows, changes, None)
    last = latest_per_key(rows, changes, emptied=True)
    return last.where(~f.col(DELETED) & ~f.col(PARTIAL)).select(
        *map(quoted, changes.columns), f.col(SEQ).alias(SEQUENCE)
    )


def _as_changes(kept: DataFrame) -> tuple[DataFrame, bool, int]:
    """The changes under their names, whether one is of a part, and how many such moved a row."""
    lacking = {UNAVAILABLE: names_where({}), MOVED_FLAG: flag(value=False)}
    known = kept.withColumns(
        {
            name: f.coalesce(f.col(name), none) if name in kept.columns else none
            for name, none in lacking.items()
        }
    )
    rows = known.withColumnsRenamed({theirs: ours for ours, theirs in _NAMES.items()})
    rows = rows.withColumn(PARTIAL, f.size(MISSING) > 0)
    if UNAVAILABLE not in kept.columns:
        return rows, False, 0
    found = rows.where(PARTIAL).agg(f.count("*"), f.count_if(MOVED)).first()
    told, moved = (0, 0) if found is None else found
    return rows, told > 0, moved


def _schema(kept: DataFrame, key: Sequence[str]) -> TableSchema:
    text = LogicalType(Kind.STRING)
    columns = (
        Column(name, logical_of(kind) or text)
        for name, kind in kept.dtypes
        if not name.startswith(PREFIX)
    )
    return TableSchema(TableId(None, "changes"), tuple(columns), tuple(key))
