"""One row per key: what a frame of events leaves of a table."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import ConfigError
from headwater.event import TableSchema
from headwater.spark.change import latest
from headwater.spark.change.changes import DELETED, MISSING, SEQ, TableChanges, row_changes
from headwater.spark.change.contents import contents
from headwater.spark.change.moves import completed
from headwater.spark.functions.order import require_batch
from headwater.spark.functions.typed import of_schema
from headwater.spark.sql import quoted
from headwater.spark.table.fit import in_one_shape
from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE, UNAVAILABLE


def latest_per_key(frame: DataFrame, schema: TableSchema, history: SchemaHistory) -> DataFrame:
    """The last change of each key, with typed columns; the frame is looked through once for it.

    `_headwater_sequence` orders changes, `_headwater_deleted` tells the keys that are gone, and
    `_headwater_unavailable` names the columns that no event of the frame said. What stood before a
    truncate is left out.
    """
    if not schema.primary_key:
        raise ConfigError("spark-no-key", f"table {schema.table} has no primary key")
    ours = require_batch(frame, "latest_per_key").where(of_schema(schema))
    found = contents(ours, history).tables
    changes = in_one_shape(found[0]) if found else _nothing(schema)
    names = (found[0] if found else changes).columns
    rows = row_changes(ours, changes, changes.floor(0))
    if changes.carrying:
        rows = completed(rows, changes, None)
    last = latest.latest_per_key(rows, changes, emptied=changes.emptied(0))
    return last.select(
        *(f.col(quoted(name)) for name in names),
        f.col(SEQ).alias(SEQUENCE),
        f.col(DELETED).alias(DELETED_FLAG),
        f.array_intersect(f.col(MISSING), f.lit([*names])).alias(UNAVAILABLE),
    )


def _nothing(schema: TableSchema) -> TableChanges:
    return TableChanges(schema.table.name, schema, {}, partial=False, truncated_at=None)
