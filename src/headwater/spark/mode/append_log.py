"""Append log: every event as a row with typed columns, and nothing ever changed.

A delete shows the row that went, as far as the source told; a truncate shows no row. What a column
does not show because the source did not send it is named, for NULL is a value. A column that the
source had not, at the time, is not named: so it does not matter where a batch is cut.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event import Operation
from headwater.spark.change.changes import ROW, TableChanges, committed_at, events_of, missing
from headwater.spark.change.columns import typed
from headwater.spark.change.task import Task
from headwater.spark.table.layout import APPEND_LOG, BEFORE, COMMITTED_AT, OP, SEQUENCE, UNAVAILABLE
from headwater.spark.table.target import Standing, Target
from headwater.spark.table.upsert import Upsert


def append_log(table: Target, task: Task, standing: Standing) -> None:
    """Append what the table has not yet, to the end of the batch."""
    changes = task.changes
    is_new = table.prepare(changes.schema, APPEND_LOG)
    rows = events_of(task.frame, changes, standing.applied).select(
        *(typed(column, ROW).alias(column.name) for column in changes.schema.columns),
        f.col("sequence_number").alias(SEQUENCE),
        f.col("op").alias(OP),
        committed_at().alias(COMMITTED_AT),
        _unavailable(changes).alias(UNAVAILABLE),
        f.col("before").alias(BEFORE),
    )
    if is_new:
        table.fill(rows, task.until)
        return
    upsert = Upsert(
        columns=(*changes.columns, *APPEND_LOG),
        same=(SEQUENCE,),
        # Another driver may have gone on since we looked; older files need not be asked.
        within=f"t.{SEQUENCE} > {standing.applied}",
    )
    table.write(rows, task.until, upsert)


def _unavailable(changes: TableChanges) -> SparkColumn:
    """Names of the columns that are NULL only because nothing was said of them."""
    others = f.array(*map(f.lit, changes.others)).cast("array<string>")
    every = f.array(*map(f.lit, changes.columns))
    unsent = missing(changes, "before_unavailable_columns")
    deleted = f.when(f.col("before_is_key_only"), others).otherwise(unsent)
    named = (
        f.when(f.col("op") == Operation.DELETE.label, deleted)
        .when(f.col("op") == Operation.TRUNCATE.label, every)
        .otherwise(missing(changes))
    )
    for schema_id, names in changes.lacking.items():
        if names:
            known = f.array_except(named, f.array(*map(f.lit, names)))
            named = f.when(f.col("schema_id") == schema_id, known).otherwise(named)
    return named
