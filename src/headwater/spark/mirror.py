"""Mirror: a micro-batch of events to the tables that it concerns."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import ConfigError, DataError, HeadwaterError
from headwater.event import Operation, TableId
from headwater.failpoint import failpoint
from headwater.spark.delta import DeltaTarget
from headwater.spark.latest import TableChanges, latest_per_key, row_changes
from headwater.spark.moves import completed
from headwater.spark.target import table_path

# MERGEs of different tables wait for storage more than for cores.
_TABLES_AT_ONCE = 4


class Apply(Protocol):
    """What a stream does with each micro-batch."""

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply the batch; called again with the same batch after a crash."""
        ...


@dataclass(frozen=True, slots=True)
class Mirror:
    """Keeps one Delta table per source table equal to it (SCD1).

    Delivery: exactly once per table and batch. A crash between the tables of a batch is safe: each
    table knows its own position and takes only what it lacks.
    """

    target: str
    history: SchemaHistory
    log_id: str

    @property
    def app_id(self) -> str:
        """The name under which Delta keeps our position: the log's, so checkpoints may be lost."""
        return f"headwater:{self.log_id}"

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply one micro-batch to every table in it."""
        del batch_id
        failpoint("spark.batch.begin")
        frame.persist()
        try:
            batch = contents(frame, self.history)
            session = frame.sparkSession
            with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
                jobs = [
                    pool.submit(self._apply, session, frame, changes, batch.until)
                    for changes in batch.tables
                ]
            for job in jobs:
                job.result()
        finally:
            frame.unpersist()
        failpoint("spark.batch.end")

    def _apply(
        self, session: SparkSession, frame: DataFrame, changes: TableChanges, until: int
    ) -> None:
        path = table_path(self.target, changes.schema.table)
        if not changes.schema.primary_key:
            raise ConfigError(
                "spark-no-key",
                f"table {changes.table} has no primary key, so its rows cannot be told apart",
                where=path,
            )
        table = DeltaTarget(session, path, self.app_id)
        standing = table.standing()
        if standing.applied >= until:
            return
        try:
            is_new = table.prepare(changes.schema)
            emptied = changes.emptied(standing.applied)
            rows = row_changes(frame, changes, standing.applied)
            if changes.carrying:
                rows = completed(rows, changes, None if emptied else table.rows(standing))
            last = latest_per_key(rows, changes, emptied=emptied)
            if is_new:
                table.fill(last, changes, until)
            else:
                table.merge(last, changes, until)
            table.note_position(until)
        except HeadwaterError:
            raise
        except Exception as exc:
            raise classified(exc, changes.table) from exc


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
