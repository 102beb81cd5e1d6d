"""A job reads with every core of its session, where there is enough to read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import spark_partition_id

from headwater.app.spark import TableJob, register
from headwater.contract import Phase, SnapshotProgress, SourceBatch
from headwater.event import EventBatch, Operation, Position, encode_row
from headwater.log import SqliteLog
from headwater.spark.apply.parquet import AppendLog
from headwater.spark.source.tasks import WORTH_BYTES
from headwater.testing.builders import IDENTITY, ITEMS

pytestmark = pytest.mark.spark

CORES, CHUNKS, ROWS = 3, 3, 64


@pytest.fixture
def large(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, as one that has more cores: a JVM more would cost more than the tests."""
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.default.parallelism", str(CORES))
    yield spark
    conf.remove("spark.default.parallelism")
    register(spark)


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    """A load in chunks that are each worth a task, and in a last one that is not."""
    log, draw = SqliteLog.create(tmp_path / "items.hwlog"), random.Random(3)
    width = WORTH_BYTES // ROWS  # of chance, which nothing makes smaller
    with closing(log.writer(IDENTITY)) as writer:
        for number in range(CHUNKS):
            writer.append(_chunk(number, [draw.randbytes(width).hex() for _ in range(ROWS)]))
        writer.append(_chunk(CHUNKS, ["small"] * ROWS))
    return log


def _chunk(number: int, names: list[str]) -> SourceBatch:
    begin, done = number * ROWS, number == CHUNKS
    events = {
        "op": [int(Operation.READ)] * ROWS,
        "source_name": IDENTITY.name,
        "offset": [f"read:{begin + each}" for each in range(ROWS)],
        "source_ts_ms": 1,
        "ts_ms": 1,
        "table_name": "items",
        "primary_key": [list(ITEMS.primary_key)] * ROWS,
        "after": [encode_row({"id": begin + at, "name": name}) for at, name in enumerate(names)],
        "schema_id": ITEMS.schema_id,
    }
    return SourceBatch(
        EventBatch.from_columns(events),
        Position({"n": number}),
        (ITEMS,),
        Phase.SNAPSHOT,
        SnapshotProgress("items", begin + ROWS, None, done=done),
        owed=() if done else (ITEMS.table,),
    )


@pytest.mark.parametrize(("partitions", "tasks"), [(None, CORES), (1, 1)])
def test_job_reads_with_every_core_or_as_it_was_told(
    large: SparkSession,
    log: SqliteLog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    partitions: int | None,
    tasks: int,
) -> None:
    """The stream has so many tasks, and a first load so many files: each task writes one."""
    seen: list[int] = []
    append = AppendLog.__call__

    def watched(self: AppendLog, frame: DataFrame, batch_id: int) -> None:
        seen.append(frame.select(spark_partition_id()).distinct().count())
        append(self, frame, batch_id)

    monkeypatch.setattr(AppendLog, "__call__", watched)
    said: dict[str, Any] = {"max_events": CHUNKS * ROWS, "partitions": partitions}
    TableJob(log.path, str(tmp_path / "delta"), **said).run_once(large)
    files = [*(tmp_path / "delta" / "items").rglob("*.parquet")]
    appended = TableJob(log.path, str(tmp_path / "log"), "parquet", consumer="log", **said)
    appended.run_once(large)
    assert (seen, len(files)) == ([tasks, 1], tasks + 1)
