"""What a micro-batch holds: which tables, in which shapes, up to where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import DataError
from headwater.event import Operation, TableId
from headwater.spark.change.changes import TableChanges


@dataclass(frozen=True, slots=True)
class Contents:
    """What a micro-batch holds: changes per table, up to its last sequence number and commit."""

    tables: tuple[TableChanges, ...]
    until: int
    committed_at_us: int = 0


def contents(frame: DataFrame, history: SchemaHistory) -> Contents:
    """Look through the batch once; only the counting runs on Spark."""
    truncate = f.col("op") == Operation.TRUNCATE.label
    unsent = f.size(f.coalesce("unavailable_columns", f.array()))
    moves = (f.col("op") == Operation.UPDATE.label) & f.col("before").isNotNull()
    rows = (
        frame.groupBy(
            "schema",
            "table",
            "schema_id",
            (f.col("op") == Operation.SCHEMA_CHANGE.label).alias("about_schema"),
        )
        .agg(
            f.max("sequence_number").alias("last"),
            f.max(f.when(truncate, f.col("sequence_number"))).alias("truncated_at"),
            f.max(unsent).alias("unsent"),
            f.count_if(moves & (unsent > 0)).alias("carrying"),
            f.max(f.unix_micros("source.timestamp")).alias("committed"),
        )
        .collect()
    )
    tables: dict[TableId, list[Row]] = {}
    for row in rows:
        if not row["about_schema"]:
            tables.setdefault(TableId(row["schema"], row["table"]), []).append(row)
    return Contents(
        tables=tuple(_changes(table, found, history) for table, found in tables.items()),
        until=max((int(row["last"]) for row in rows), default=0),
        committed_at_us=max((int(row["committed"]) for row in rows), default=0),
    )


def _changes(table: TableId, versions: list[Row], history: SchemaHistory) -> TableChanges:
    newest = history.schema(max(versions, key=lambda row: row["last"])["schema_id"])
    names = [column.name for column in newest.columns]
    lacking = {}
    for row in versions:
        older = {column.name for column in history.schema(row["schema_id"]).columns}
        lacking[int(row["schema_id"])] = tuple(name for name in names if name not in older)
    return TableChanges(
        table=table.name,
        schema=newest,
        lacking=lacking,
        partial=any(row["unsent"] for row in versions),
        truncated_at=max(_present(row["truncated_at"] for row in versions), default=None),
        carrying=sum(row["carrying"] for row in versions),
    )


def _present(values: Iterable[int | None]) -> list[int]:
    return [value for value in values if value is not None]


def classified(exc: Exception, table: str) -> Exception:
    """Spark's own error classes, as ours where we know what to do about them."""
    if "MALFORMED_RECORD_IN_PARSING" in str(exc):
        return DataError(
            "value-mistyped",
            "a row holds a value that does not have its column's declared type",
            where=f"table {table}",
        )
    return exc
