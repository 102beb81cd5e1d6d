"""Rows added to a Delta table: a few without any Spark job, many with no more than it takes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from headwater.spark.gateway.files import Files
from headwater.spark.gateway.scala import activate, items_of
from headwater.spark.source.data_file import DataFile
from headwater.spark.sql import quoted
from headwater.spark.table.delta_commit import action, begin, commit, finish, position
from headwater.spark.table.delta_files import KnownFiles, after_commit
from headwater.spark.table.deltalog import carrying, saying

# Tags of a file: the ends of its keys, of which it has none twice.
_LEAST, _GREATEST = "headwater.least_key", "headwater.greatest_key"


def append(session: SparkSession, table: str, rows: pa.Table, until: int) -> int:
    """Add rows that have the table's columns; returns the version that has them."""
    activate(session)
    data = pa.BufferOutputStream()
    pq.write_table(rows, data, compression="snappy")
    content = data.getvalue().to_pybytes()
    name = f"part-{uuid4()}.parquet"
    Files(session, table).write(f"{table}/{name}", content)
    stats = json.dumps({"numRecords": rows.num_rows})
    with saying(session, until):
        return commit(session, table, [_add(session, name, len(content), stats)])


def append_rows(
    session: SparkSession, table: str, rows: DataFrame, app_id: str, until: int
) -> None:
    """Add rows in one commit that carries the position, unless one before has.

    Delta's own append asks the whole log for the position, with Spark jobs.
    """
    begun = begin(session, table, app_id, until)
    if begun is None:
        return
    whole = _whole(rows, begun.snapshot())
    added = items_of(begun.writeFiles(whole._jdf))  # noqa: SLF001
    with carrying(session, app_id, until):
        finish(session, begun, [*added, position(session, app_id, until)])


def append_files(
    session: SparkSession,
    table: str,
    files: Sequence[DataFile],
    app_id: str,
    until: int,
    known: KnownFiles,
) -> None:
    """Add files that are in the table's folder, in one commit, unless one before has."""
    begun = begin(session, table, app_id, until)
    if begun is None:
        return
    before = known.of(table, begun.snapshot())
    added = [_add(session, each.path, each.size, each.stats, _tags(each)) for each in files]
    with carrying(session, app_id, until):
        version = finish(session, begun, [*added, position(session, app_id, until)])
    known.keep(table, begun, version, after_commit(before, (), added))


def _tags(file: DataFile) -> dict[str, str]:
    if file.least is None or file.greatest is None:
        return {}
    return {_LEAST: file.least, _GREATEST: file.greatest}


def are_apart(tags: Iterable[Any]) -> bool:
    """Whether files have keys without doubles, and no two files have keys in one range."""
    bounds = []
    for each in tags:
        if each is None or not (each.contains(_LEAST) and each.contains(_GREATEST)):
            return False
        bounds.append((json.loads(each.apply(_LEAST)), json.loads(each.apply(_GREATEST))))
    bounds.sort()
    return all(end < begin for (_, end), (begin, _) in pairwise(bounds))


def _add(
    session: SparkSession, path: str, size: int, stats: str, tags: Mapping[str, str] | None = None
) -> Any:
    told = {
        "path": path,
        "partitionValues": {},
        "size": size,
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
        "stats": stats,
    }
    return action(session, "add", told | ({"tags": dict(tags)} if tags else {}))


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
