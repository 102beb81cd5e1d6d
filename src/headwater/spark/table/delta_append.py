"""A few rows put into a Delta table without a Spark job: one small file, one commit."""

from __future__ import annotations

import json
import time
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from headwater.spark.table.delta_commit import action, commit
from headwater.spark.table.deltalog import saying
from headwater.spark.table.scala import activate, jvm_of


def append(session: SparkSession, table: str, rows: pa.Table, until: int) -> int:
    """Add rows that have the table's columns; returns the version that has them."""
    activate(session)
    data = pa.BufferOutputStream()
    pq.write_table(rows, data, compression="snappy")
    content = data.getvalue().to_pybytes()
    name = f"part-{uuid4()}.parquet"
    _put(session, f"{table}/{name}", content)
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


def _put(session: SparkSession, path: str, content: bytes) -> None:
    """Write a file wherever Spark reaches."""
    where = jvm_of(session).org.apache.hadoop.fs.Path(path)
    settings = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
    stream = where.getFileSystem(settings).create(where, False)  # noqa: FBT003
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()
