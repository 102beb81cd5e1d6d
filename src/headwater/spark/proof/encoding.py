"""The text that a row is hashed as, in SQL: computed where the rows are.

`headwater.app.proof.encoding` says what the text is and writes it for the source; the two are one
specification in two languages, and tests hold them together.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event import Column, Kind, LogicalType
from headwater.spark.sql import quoted

_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_HASH_DIGITS = 32


def row_hash(columns: Sequence[Column]) -> SparkColumn:
    """The hash of these columns, in hexadecimal digits."""
    ordered = sorted(columns, key=lambda column: column.name)
    parts = [f.coalesce(_labelled(column), f.lit("")) for column in ordered]
    return f.substring(f.sha2(f.concat(*parts), 256), 1, _HASH_DIGITS)


def _labelled(column: Column) -> SparkColumn:
    label = f"{len(column.name)}:{column.name}"
    return f.concat(f.lit(label), _counted(text(f.col(quoted(column.name)), column.type)))


def _counted(value: SparkColumn) -> SparkColumn:
    return f.concat(f.length(value).cast("string"), f.lit(":"), value)


def text(value: SparkColumn, logical: LogicalType) -> SparkColumn:
    """A value's text by its type at the source; the table may hold it in a wider one."""
    match logical.kind:
        case Kind.FLOAT64:
            return _hexadecimal(value.cast("double"))
        case Kind.FLOAT32:
            return _hexadecimal(value.cast("float").cast("double"))
        case Kind.BINARY:
            return f.hex(value)
        case Kind.TIMESTAMP:
            return f.date_format(value, _TIME)
        case Kind.TIMESTAMPTZ:
            return f.date_format(value, f"{_TIME}'Z'")
        case Kind.ARRAY if logical.element is not None:
            return _array(value, logical.element)
        case _:
            return value.cast("string")


def _hexadecimal(value: SparkColumn) -> SparkColumn:
    """Formatting makes a word of NULL."""
    return f.when(value.isNotNull(), f.format_string("%a", value))


def _array(value: SparkColumn, element: LogicalType) -> SparkColumn:
    items = f.transform(value, lambda item: f.coalesce(_counted(text(item, element)), f.lit("-")))
    return f.array_join(items, ",")
