"""Rows added to a Delta table: a few without any Spark job, many with no more than it takes."""

from __future__ import annotations

import json
import time
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from headwater.spark.gateway.files import Files
from headwater.spark.gateway.scala import activate, items_of
from headwater.spark.sql import quoted
from headwater.spark.table.delta_commit import action, commit, finish, position
from headwater.spark.table.deltalog import carried, carrying, log_at, saying


def append(session: SparkSession, table: str, rows: pa.Table, until: int) -> int:
    """Add rows that have the table's columns; returns the version that has them."""
    activate(session)
    data = pa.BufferOutputStream()
    pq.write_table(rows, data, compression="snappy")
    content = data.getvalue().to_pybytes()
    name = f"part-{uuid4()}.parquet"
    Files(session, table).write(f"{table}/{name}", content)
    added = {
        "path": name,
        "partitionValues": {},
        "size": len(content),
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": rows.num_rows}),
    }
    with saying(session, until):
        return commit(session, table, [action(session, "add", added)])


def append_rows(
    session: SparkSession, table: str, rows: DataFrame, app_id: str, until: int
) -> None:
    """Add rows in one commit that carries the position, unless one before has.

    Delta's own append asks the whole log for the position, with Spark jobs.
    """
    activate(session)
    begun = log_at(session, table).startTransaction()
    if carried(begun.snapshot(), app_id) >= until:
        return
    begun.readTxn().addOne(app_id)  # of two drivers that add the same, one fails
    whole = _whole(rows, begun.snapshot())
    added = items_of(begun.writeFiles(whole._jdf))  # noqa: SLF001
    with carrying(session, app_id, until):
        finish(session, begun, [*added, position(session, app_id, until)])


def _whole(rows: DataFrame, snapshot: Any) -> DataFrame:
    """The rows in the table's columns; one that the source has no more is NULL in them."""
    columns = StructType.fromJson(json.loads(snapshot.schema().json())).fields
    told = {*rows.columns}
    return rows.select(
        *(
            f.col(quoted(each.name))
            if each.name in told
            else f.lit(None).cast(each.dataType).alias(each.name)
            for each in columns
        )
    )
