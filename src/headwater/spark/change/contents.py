"""What a micro-batch holds: which tables, in which shapes, up to where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import DataError
from headwater.event import Operation, TableId
from headwater.spark.change.changes import Shape, TableChanges

_NO_ROWS = (Operation.SCHEMA_CHANGE.label, Operation.MESSAGE.label)

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
    """What a micro-batch holds: changes per table, after one sequence number up to another."""

    tables: tuple[TableChanges, ...]
    after: int
    until: int
    committed_at_us: int = 0


def contents(frame: DataFrame, history: SchemaHistory) -> Contents:
    """Look through the batch once; only the counting runs on Spark."""
    truncate = f.col("op") == Operation.TRUNCATE.label
    unsent = f.size(f.coalesce("unavailable_columns", f.array()))
    reads = f.col("op") == Operation.READ.label
    moves = (f.col("op") == Operation.UPDATE.label) & f.col("before").isNotNull()
    rows = (
        frame.groupBy(
            "schema",
            "table",
            "schema_id",
            f.col("op").isin(*_NO_ROWS).alias("no_rows"),
        )
        .agg(
            f.min("sequence_number").alias("first"),
            f.max("sequence_number").alias("last"),
            f.count("*").alias("events"),
            f.max(f.when(truncate, f.col("sequence_number"))).alias("truncated_at"),
            f.max(unsent).alias("unsent"),
            f.count_if(moves).alias("moving"),
            f.count_if(moves & (unsent > 0)).alias("carrying"),
            f.count_if(reads).alias("reads"),
            f.max(f.unix_micros("source.timestamp")).alias("committed"),
        )
        .collect()
    )
    tables: dict[TableId, list[Row]] = {}
    for row in rows:
        if not row["no_rows"]:
            tables.setdefault(TableId(row["schema"], row["table"]), []).append(row)
    return Contents(
        tables=tuple(_changes(table, found, history) for table, found in tables.items()),
        after=min((int(row["first"]) for row in rows), default=1) - 1,
        until=max((int(row["last"]) for row in rows), default=0),
        committed_at_us=max((int(row["committed"]) for row in rows), default=0),
    )


def _changes(table: TableId, versions: list[Row], history: SchemaHistory) -> TableChanges:
    newest = max(versions, key=lambda row: row["last"])
    ordered = [*sorted(versions, key=lambda row: row["first"]), newest]
    shapes = tuple(Shape(history.schema(row["schema_id"]), int(row["last"])) for row in ordered)
    schema = shapes[-1].schema
    names = {column.name for column in schema.columns}
    return TableChanges(
        table=table.name,
        schema=schema,
        readings={
            int(row["schema_id"]): {
                column.name: column for column in shape.schema.columns if column.name in names
            }
            for row, shape in zip(ordered, shapes, strict=True)
        },
        partial=any(row["unsent"] for row in versions),
        truncated_at=max(_present(row["truncated_at"] for row in versions), default=None),
        may_move=any(row["moving"] for row in versions),
        carrying=sum(row["carrying"] for row in versions),
        shapes=shapes,
        reads_told=sum(row["reads"] for row in versions),
        others_told=sum(row["events"] - row["reads"] for row in versions),
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
