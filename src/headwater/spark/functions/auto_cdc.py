"""Changes of rows as Auto CDC of Spark's Declarative Pipelines takes them.

Auto CDC keeps the row with the highest sequence per key, and writes every column of it. It has no
word for a column that was not sent, nor for a table that was emptied, and the columns are those
with which the flow began. A column that is missing, a truncate and a new shape stop the stream
here: the target would be wrong from then on and nothing would tell (INV-10).
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import ConfigError
from headwater.event import Operation, TableSchema
from headwater.spark.change.changes import DELETED, PARTIAL, SEQ, TableChanges, row_changes
from headwater.spark.functions.stop import of_new_shape, stop
from headwater.spark.functions.typed import of_schema
from headwater.spark.sql import quoted
from headwater.spark.table.fit import readings_as
from headwater.spark.table.layout import DELETED_FLAG, SEQUENCE


def auto_cdc_source(frame: DataFrame, schema: TableSchema, history: SchemaHistory) -> DataFrame:
    """Typed columns, the sequence number and whether the row is gone.

    A changed key is two rows: its old key goes, its new key comes.
    """
    if not schema.primary_key:
        raise ConfigError("spark-no-key", f"table {schema.table} has no primary key")
    readings = readings_as(schema, history)
    changes = TableChanges(schema.table.name, schema, readings, partial=False, truncated_at=None)
    # In the columns that everything below looks at: as filters, Spark would try them last.
    emptied = f.col("op") == Operation.TRUNCATE.label
    unknown = of_new_shape(readings) & (f.col("op") != Operation.SCHEMA_CHANGE.label)
    op = f.when(emptied, stop("auto-cdc-truncate", schema))
    op = op.when(unknown, stop("spark-new-shape", schema))
    told = frame.where(of_schema(schema)).withColumn("op", op.otherwise(f.col("op")))
    rows = row_changes(told, changes, 0)
    sequence = f.when(f.col(PARTIAL), stop("auto-cdc-partial", schema, SEQ).cast("bigint"))
    return rows.select(
        *(f.col(quoted(column.name)) for column in schema.columns),
        sequence.otherwise(f.col(SEQ)).alias(SEQUENCE),
        f.col(DELETED).alias(DELETED_FLAG),
    )
