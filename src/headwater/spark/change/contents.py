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

# What tables are made of. The rest of an event is not kept while a batch is worked on.
_USED = (
    *("sequence_number", "op", "schema", "table", "before", "after", "schema_id"),
    *("before_is_key_only", "unavailable_columns", "before_unavailable_columns"),
)


def used(frame: DataFrame) -> DataFrame:
    """The columns of events that tables are made of."""
    return frame.select(*_USED, f.struct("source.timestamp").alias("source"))


@dataclass(frozen=True, slots=True)
class Contents:
    """What a micro-batch holds: changes per table, up to its last sequence number."""

    tables: tuple[TableChanges, ...]
    until: int


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
            f.count_if(f.col("op") == Operation.READ.label).alias("reads"),
            f.count("*").alias("told"),
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
        reads_told=sum(row["reads"] for row in versions),
        others_told=sum(row["told"] - row["reads"] for row in versions),
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
