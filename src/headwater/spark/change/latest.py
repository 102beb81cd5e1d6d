"""From many changes to one row per key: the last one, complete as far as the source was.

A column that is missing keeps the latest value that was sent, else the one in the table (INV-10).
Neither may come from a row that stood under the key before: a delete, a move and a truncate end
what was known of it.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from headwater.spark.change.changes import (
    DELETED,
    MISSING,
    MOVED,
    PARTIAL,
    SEQ,
    TableChanges,
    flag,
    key_columns,
    names_where,
    says,
)
from headwater.spark.sql import quoted


def latest_per_key(rows: DataFrame, changes: TableChanges, *, emptied: bool) -> DataFrame:
    """One row per key: SEQ, DELETED, the typed columns, and what is missing of them."""
    if changes.merges:
        return _merged(rows, changes, emptied=emptied)
    order = Window.partitionBy(*key_columns(changes)).orderBy(f.col(SEQ).desc())
    place = "__place"
    last = rows.withColumn(place, f.row_number().over(order)).where(f.col(place) == 1)
    return last.drop(place)


def _merged(rows: DataFrame, changes: TableChanges, *, emptied: bool) -> DataFrame:
    """The last value that was sent, column by column, since a row last left or came to the key.

    A row that came so and of which a part is still unknown cannot stand, nor can what it replaced.
    """
    seq = f.col(SEQ)
    sent = {name: f.when(says(name), seq) for name in changes.others}
    at = {name: f"__at_{place}" for place, name in enumerate(changes.others)}
    last = rows.groupBy(*key_columns(changes)).agg(
        f.max(seq).alias(SEQ),
        f.max_by(DELETED, seq).alias(DELETED),
        f.max(f.when(f.col(DELETED) | f.col(MOVED), seq)).alias("__turn"),
        f.max(f.when(~f.col(DELETED) & ~f.col(PARTIAL), seq)).alias("__whole"),
        *(f.max_by(quoted(name), order).alias(name) for name, order in sent.items()),
        *(f.max(order).alias(at[name]) for name, order in sent.items()),
    )
    known = {name: _since_turn(column) for name, column in at.items()}
    unsent = names_where({name: ~column for name, column in known.items()})
    partial = ~_since_turn("__whole") & (f.size(unsent) > 0)
    afresh = f.col("__turn").isNotNull() | flag(value=emptied)
    return last.select(
        seq,
        (f.col(DELETED) | (afresh & partial)).alias(DELETED),
        *key_columns(changes),
        *(f.when(column, f.col(quoted(name))).alias(name) for name, column in known.items()),
        f.when(~afresh, unsent).otherwise(names_where({})).alias(MISSING),
        partial.alias(PARTIAL),
    )


def _since_turn(column: str) -> SparkColumn:
    """Whether a sequence number is there, and from after what was known before had ended."""
    return f.coalesce(f.col(column) >= f.col("__turn"), f.col(column).isNotNull())
