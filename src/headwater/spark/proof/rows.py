"""Reading tables back as canonical rows, to be compared with the source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame

from headwater.event import Column, Kind, TableSchema, to_json_value, to_python
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


def as_stored(row: dict[str, Any], schema: TableSchema) -> dict[str, Any]:
    """A source row as a mirrored table can hold it: what Spark has no type for is text there."""
    return {column.name: _stored(row.get(column.name), column) for column in schema.columns}


def _stored(value: Any, column: Column) -> Any:
    if value is None:
        return None
    if column.type.kind is Kind.BINARY:
        return to_json_value(to_python(value, column.type))
    if column.type.kind in (Kind.DYNAMIC, Kind.JSON, Kind.STRING) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value
