"""Logical types as Spark columns: what a table stores, and how a JSON image becomes it."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event import Column, Kind, LogicalType
from headwater.event.value import TEXT_TAG
from headwater.spark.change.kinds import JsonAs, stored_type
from headwater.spark.sql import quoted


def image_ddl(columns: Sequence[Column], json_as: JsonAs = "string") -> str:
    """The structure that from_json reads an image as; binary is text until `typed` decodes it."""
    return ", ".join(
        f"{quoted(column.name)} {parsed_type(column.type, json_as)}" for column in columns
    )


def parsed_type(logical: LogicalType, json_as: JsonAs = "string") -> str:
    """The type that an image's value is read as."""
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
