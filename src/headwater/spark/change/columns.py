"""Logical types as Spark columns: what a JSON image is read as."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as f

from headwater.event import Column
from headwater.spark.change.kinds import JsonAs, stored_type
from headwater.spark.sql import quoted


def image_ddl(columns: Sequence[Column], json_as: JsonAs = "string") -> str:
    """The structure that from_json reads an image as."""
    return ", ".join(
        f"{quoted(column.name)} {stored_type(column.type, json_as)}" for column in columns
    )


def typed(column: Column, image: str) -> SparkColumn:
    """A column of a parsed image as it is stored."""
    return f.col(f"{quoted(image)}.{quoted(column.name)}")
