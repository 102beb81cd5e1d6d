"""The end of a query at an event, where going on would write what is wrong (INV-10).

A query reads a table in the shapes that the log knew when it began. In an event of a later one a
renamed column is not where it was, and an added one is not looked for: both would be NULL, good
values would be overwritten, and nothing would tell. A query that begins again knows the shape.
"""

from __future__ import annotations

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.errors import CATALOG
from headwater.event import TableSchema
from headwater.spark.change.reading import Readings

_UNTOLD = 0  # what a record that tells no shape becomes: read as the newest one that is known


def stop(code: str, schema: TableSchema, sequence: str = "sequence_number") -> SparkColumn:
    """The end of the query, with its reason, its place and the way out."""
    place, fix = f.lit(f"[{code}] {schema.table} at sequence "), f.lit(f": {CATALOG[code].fix}")
    return f.raise_error(f.concat(place, f.col(sequence).cast("string"), fix)).cast("string")


def of_new_shape(readings: Readings) -> SparkColumn:
    """Whether an event has a shape that the query does not know."""
    return ~f.col("schema_id").isin(_UNTOLD, *readings)
