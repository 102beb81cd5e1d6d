"""Tables of a target as people reach them, beside Headwater."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat
from headwater.spark.session import CATALOG, folder_conf


def theirs(spark: SparkSession, table_format: TableFormat, path: Path) -> tuple[SparkSession, str]:
    """A session for statements on a table, and the table's name there."""
    if table_format != "iceberg":
        return spark, f"{table_format}.`{path}`"
    session = spark.newSession()
    for name, value in folder_conf(str(path.parent)).items():
        session.conf.set(name, value)
    return session, f"{CATALOG}.`{path.name}`"
