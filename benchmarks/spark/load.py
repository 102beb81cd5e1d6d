"""The first load of a table: a snapshot in the log into a new Delta table, against a plain copy."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.harness import Bench, timed
from benchmarks.rows import SOURCE_UID, customers
from headwater.app.spark import TableJob
from headwater.contract import Phase, SnapshotProgress, SourceBatch, SourceIdentity
from headwater.event import (
    Column,
    EventBatch,
    Kind,
    LogicalType,
    Operation,
    Position,
    TableId,
    TableSchema,
)
from headwater.log import SqliteLog

ROWS, PER_CHUNK = 4_000_000, 10_000
CUSTOMERS = TableSchema(
    table=TableId(None, "customers"),
    columns=(
        Column("id", LogicalType(Kind.INT64), nullable=False),
        *(Column(name, LogicalType(Kind.STRING)) for name in ("name", "email", "city")),
        Column("balance_cents", LogicalType(Kind.INT64)),
        Column("rating", LogicalType(Kind.FLOAT64)),
        Column("active", LogicalType(Kind.BOOLEAN)),
        Column("note", LogicalType(Kind.STRING)),
    ),
    primary_key=("id",),
)


def initial_load(bench: Bench, spark: SparkSession, folder: Path) -> None:
    """Four million rows that nobody has seen, in micro-batches of the usual size."""
    log, parquet, places = folder / "load.hwlog", str(folder / "load.parquet"), count()
    fill_snapshot(log)

    def load() -> str:
        target = str(folder / f"load-{next(places)}")
        TableJob(log, target, consumer=Path(target).name).run_once(spark)
        return target

    def copy() -> None:
        target = str(folder / f"load-{next(places)}")
        spark.read.parquet(parquet).write.format("delta").save(target)

    loaded = spark.read.format("delta").load(f"{load()}/customers")
    if loaded.count() != ROWS:
        raise SystemExit(f"{loaded.count()} rows were loaded, not {ROWS}")
    loaded.drop("_headwater_sequence").write.parquet(parquet)
    ratio = bench.compare(
        "first load of a Delta table, 4 M rows",
        lambda: timed(ROWS, load),
        ("Parquet copied into Delta", lambda: timed(ROWS, copy)),
        rounds=3,
    )
    bench.bar("first load against a plain copy", ratio, 0.6)


def fill_snapshot(path: Path, rows: int = ROWS) -> None:
    """A log that holds the snapshot of one table."""
    writer = SqliteLog(path).writer(SourceIdentity("sqlite", SOURCE_UID))
    for first in range(0, rows, PER_CHUNK):
        done = first + PER_CHUNK == rows
        writer.append(
            SourceBatch(
                _read(customers(first, PER_CHUNK)),
                Position({"change": first}),
                (CUSTOMERS,),
                Phase.SNAPSHOT,
                SnapshotProgress("customers", first + PER_CHUNK, rows, done=done),
                owed=() if done else (CUSTOMERS.table,),
            )
        )
    writer.close()


def _read(inserts: EventBatch) -> EventBatch:
    columns = {name: inserts.column(name) for name in inserts.records.schema.names}
    told = {"op": int(Operation.READ), "schema_id": CUSTOMERS.schema_id}
    same = {name: pa.repeat(pa.scalar(value), len(inserts)) for name, value in told.items()}
    return EventBatch.from_columns(columns | same)
