"""A folder of appended changes, and the table that they amount to."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE

BATCH = "headwater_until"


def current_rows(session: SparkSession, path: str, key: tuple[str, ...]) -> DataFrame:
    """The table as it stands after the appended changes: the last change of each key."""
    changes = session.read.option("mergeSchema", "true").parquet(path)
    newest = Window.partitionBy(*map(f.col, key)).orderBy(f.col(SEQUENCE).desc(), DELETED_FLAG)
    ranked = changes.withColumn("__place", f.row_number().over(newest))
    last = ranked.where((f.col("__place") == 1) & ~f.col(DELETED_FLAG))
    return last.drop("__place", DELETED_FLAG, BATCH)
