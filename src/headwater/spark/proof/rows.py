"""Reading tables back as canonical rows, to be compared with the source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame

from headwater.event import Column, Kind, TableSchema, to_json_value, to_python
from headwater.event.verbatim import Image, Verbatim, is_verbatim, value_of
from headwater.spark.sql import quoted


def stored_rows(frame: DataFrame, schema: TableSchema) -> Iterator[dict[str, Any]]:
    """The rows of a mirrored table, by the value rule."""
    names = [column.name for column in schema.columns]
    for row in frame.select(*map(quoted, names)).toLocalIterator(prefetchPartitions=True):
        yield {column.name: read_value(row[column.name], column) for column in schema.columns}


def read_value(value: Any, column: Column) -> Any:
    """A value that Spark handed over, by the value rule."""
    if column.type.kind is Kind.TIMESTAMPTZ and isinstance(value, datetime):
        value = value.astimezone(UTC)  # Spark hands it over in this process's own zone, unsaid
    return to_json_value(value)


def key_value(value: Any, column: Column) -> Any:
    """A value of a key, as the source has it."""
    if isinstance(value, str) and is_verbatim(column.type):
        return value_of(value, column.type)
    return read_value(value, column)


def as_stored(image: Image, schema: TableSchema) -> dict[str, Any]:
    """A source row as a mirrored table can hold it: what Spark has no type for is text there."""
    row = Verbatim({column.name: column.type for column in schema.columns}).row(image)
    return {column.name: _stored(row.get(column.name), column) for column in schema.columns}


def _stored(value: Any, column: Column) -> Any:
    if value is None:
        return None
    if column.type.kind is Kind.BINARY:
        return to_json_value(to_python(value, column.type))
    if column.type.kind is Kind.STRING and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value
