"""Images as typed columns: what the schema history says of a table, in Spark's own types."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.event import Operation, TableSchema
from headwater.spark.change.columns import image_ddl
from headwater.spark.change.columns import typed as typed_column
from headwater.spark.change.kinds import JsonAs

_FAIL = {"mode": "FAILFAST"}


def typed(frame: DataFrame, schema: TableSchema, json_as: JsonAs = "string") -> DataFrame:
    """The table's events with `before` and `after` as structs of typed columns.

    A column that an image does not have is NULL in it; `unavailable_columns` tells which were not
    sent. Events about the table's shape are left out.
    """
    ours = frame.where(of_schema(schema)).where(f.col("op") != Operation.SCHEMA_CHANGE.label)
    for side in ("before", "after"):
        ours = ours.withColumn(side, f.from_json(side, image_ddl(schema.columns, json_as), _FAIL))
    return ours.withColumns({side: _image(side, schema) for side in ("before", "after")})


def of_schema(schema: TableSchema) -> SparkColumn:
    """Whether an event is of this table."""
    table = schema.table
    return f.col("schema").eqNullSafe(f.lit(table.schema)) & (f.col("table") == table.name)


def _image(side: str, schema: TableSchema) -> SparkColumn:
    columns = (typed_column(column, side).alias(column.name) for column in schema.columns)
    return f.when(f.col(side).isNotNull(), f.struct(*columns))
