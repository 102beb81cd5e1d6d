"""Logical types as Spark columns: what a table stores, and how a JSON image becomes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

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

JsonAs = Literal["string", "variant"]


def stored_type(logical: LogicalType, json_as: JsonAs = "string") -> str:
    """The type of a table's column. What Spark has no exact type for is kept as text."""
    match logical.kind:
        case Kind.DECIMAL:
            return _decimal(logical)
        case Kind.ARRAY if logical.element is not None:
            return f"array<{stored_type(logical.element, json_as)}>"
        case Kind.JSON | Kind.DYNAMIC:
            return json_as
        case kind:
            return _SCALARS.get(kind, "string")


def _decimal(logical: LogicalType) -> str:
    """PostgreSQL has scales below zero and above the precision; Spark needs digits for them."""
    if logical.precision is None:
        return "string"
    scale = max(logical.scale or 0, 0)
    precision = max(logical.precision - min(logical.scale or 0, 0), scale)
    return f"decimal({precision},{scale})" if precision <= _MAX_PRECISION else "string"


def image_ddl(columns: Sequence[Column], json_as: JsonAs = "string") -> str:
    """The structure that from_json reads an image as; binary is text until `typed` decodes it."""
    return ", ".join(
        f"{quoted(column.name)} {_parsed_type(column.type, json_as)}" for column in columns
    )


def _parsed_type(logical: LogicalType, json_as: JsonAs) -> str:
    return "string" if logical.kind is Kind.BINARY else stored_type(logical, json_as)


def typed(column: Column, image: str) -> SparkColumn:
    """A column of a parsed image as it is stored."""
    value = f.col(f"{quoted(image)}.{quoted(column.name)}")
    if column.type.kind is not Kind.BINARY:
        return value
    # A database may keep text in a binary column; its bytes are what a binary column can store.
    tag = f'{{"{TEXT_TAG}":'
    text = f.from_json(value, "map<string,string>").getItem(TEXT_TAG)
    return f.when(value.startswith(tag), f.encode(text, "UTF-8")).otherwise(f.unbase64(value))
