"""Images as typed columns: what the schema history says of a table, in Spark's own types."""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.event import Operation, TableSchema
from headwater.spark.change.columns import typed as typed_column
from headwater.spark.change.kinds import JsonAs
from headwater.spark.change.reading import How, with_image
from headwater.spark.functions.stop import of_new_shape, stop
from headwater.spark.table.fit import readings_as

_PARSED = "__parsed"


def typed(
    frame: DataFrame, schema: TableSchema, history: SchemaHistory, json_as: JsonAs = "string"
) -> DataFrame:
    """The table's events with `before` and `after` as structs of typed columns.

    A column that an image does not have is NULL in it; `unavailable_columns` tells which were not
    sent. Events about the table's shape are left out. An image of a shape that came later ends the
    query where it is read.
    """
    ours = frame.where(of_schema(schema)).where(f.col("op") != Operation.SCHEMA_CHANGE.label)
    readings, how = readings_as(schema, history), How(json_as=json_as)
    ended = f.when(of_new_shape(readings), stop("spark-new-shape", schema))
    for side in ("before", "after"):
        known = ours.withColumn(side, ended.otherwise(f.col(side)))
        parsed = with_image(known, _PARSED, side, schema.columns, readings, how)
        columns = (typed_column(each, _PARSED).alias(each.name) for each in schema.columns)
        image = f.when(f.col(side).isNotNull(), f.struct(*columns))
        ours = parsed.withColumn(side, image).drop(_PARSED)
    return ours


def of_schema(schema: TableSchema) -> SparkColumn:
    """Whether an event is of this table."""
    table = schema.table
    return f.col("schema").eqNullSafe(f.lit(table.schema)) & (f.col("table") == table.name)
