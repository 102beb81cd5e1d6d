"""The text that a row is hashed as, in SQL: computed where the rows are.

`headwater.app.proof.encoding` says what the text is and writes it for the source; the two are one
specification in two languages, and tests hold them together.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event import Column, Kind, LogicalType
from headwater.spark.change.kinds import stored_type, widens
from headwater.spark.sql import quoted

_TIME = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_HASH_DIGITS = 32


def row_hash(texts: Mapping[str, SparkColumn]) -> SparkColumn:
    """The hash of columns, by name the text of each, in hexadecimal digits."""
    parts = [f.coalesce(_labelled(name, texts[name]), f.lit("")) for name in sorted(texts)]
    return f.substring(f.sha2(f.concat(*parts), 256), 1, _HASH_DIGITS)


def _labelled(name: str, value: SparkColumn) -> SparkColumn:
    return f.concat(f.lit(f"{len(name)}:{name}"), _counted(value))


def text_of(column: Column, held: str) -> SparkColumn:
    """A column's text as the source has it, of a table that holds it in the type `held`.

    A table keeps its wider type when the source's gets less room. What does not fit there is told
    as the table has it, and so differs.
    """
    value, wanted = f.col(quoted(column.name)), stored_type(column.type)
    if held == wanted or not widens(wanted, held):
        return text(value, column.type)
    narrow = value.try_cast(wanted)
    fits = narrow.cast(held) == value
    return f.coalesce(f.when(fits, text(narrow, column.type)), value.cast("string"))


def _counted(value: SparkColumn) -> SparkColumn:
    return f.concat(f.length(value).cast("string"), f.lit(":"), value)


def text(value: SparkColumn, logical: LogicalType) -> SparkColumn:
    """A value's text by its type at the source."""
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
