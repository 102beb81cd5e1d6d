"""Logical types as Spark columns: what a table stores, and how a JSON image becomes it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event import Column, Kind, LogicalType
from headwater.event.value import TEXT_TAG
from headwater.spark.sql import quoted

_SCALARS = {
    Kind.BOOLEAN: "boolean",
    Kind.INT16: "smallint",
    Kind.INT32: "int",
    Kind.INT64: "bigint",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.BINARY: "binary",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp_ntz",
    Kind.TIMESTAMPTZ: "timestamp",
}
_MAX_PRECISION = 38


def stored_type(logical: LogicalType) -> str:
    """The type of a table's column. What Spark has no exact type for is kept as text."""
    if logical.kind is Kind.DECIMAL:
        precision = logical.precision
        fits = precision is not None and precision <= _MAX_PRECISION
        return f"decimal({precision},{logical.scale or 0})" if fits else "string"
    if logical.kind is Kind.ARRAY and logical.element is not None:
        return f"array<{stored_type(logical.element)}>"
    return _SCALARS.get(logical.kind, "string")


def image_ddl(columns: Sequence[Column]) -> str:
    """The structure that from_json reads an image as; binary is text until `typed` decodes it."""
    return ", ".join(f"{quoted(column.name)} {_parsed_type(column.type)}" for column in columns)


def _parsed_type(logical: LogicalType) -> str:
    return "string" if logical.kind is Kind.BINARY else stored_type(logical)


def typed(column: Column, image: str) -> SparkColumn:
    """A column of a parsed image as it is stored."""
    value = f.col(f"{quoted(image)}.{quoted(column.name)}")
    if column.type.kind is not Kind.BINARY:
        return value
    # A database may keep text in a binary column; its bytes are what a binary column can store.
    tag = f'{{"{TEXT_TAG}":'
    text = f.from_json(value, "map<string,string>").getItem(TEXT_TAG)
    return f.when(value.startswith(tag), f.encode(text, "UTF-8")).otherwise(f.unbase64(value))
