"""format("headwater") straight on a database: the source captures into a log of its own."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headwater.app.spark import register
from headwater.errors import FencedError
from headwater.event import EventBatch
from headwater.log import SqliteLog
from headwater.log.lease import Lease
from tests.fix_postgres import PostgresDatabase
from tests.integration.postgres.capturing import publish
from tests.shop import open_shop

pytestmark = pytest.mark.spark
PATIENCE_S = 120.0


class Landing:
    """What a stream has brought: the last rows of every sequence number."""

    def __init__(self) -> None:
        self.rows: dict[int, tuple[str, str, Any]] = {}
        self.twice: list[int] = []

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        del batch_id
        for row in frame.select("sequence_number", "op", "table", "after").collect():
            if row[0] in self.rows:
                self.twice.append(row[0])
            self.rows[row[0]] = (row[1], row[2], json.loads(row[3]) if row[3] else None)

    def has(self, count: int) -> Callable[[], bool]:
        return lambda: len(self.rows) >= count


def _await(done: Callable[[], bool], query: StreamingQuery | None = None) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "it took too long"
        if query is not None and not query.isActive:
            query.awaitTermination()
        time.sleep(0.1)


def _free(path: Path) -> bool:
    lease = Lease(path)
    try:
        lease.acquire()
    except FencedError:
        return False
    lease.release()
    return True


def _holder(log: Path) -> int:
    return int(json.loads(log.with_name(f"{log.name}.lock").read_text())["pid"])


def _captured(log: Path) -> int:
    return len(EventBatch.concat(list(SqliteLog(log).reader().read(0))))


def test_sqlite_is_captured_by_the_stream_that_reads_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-2, INV-3: once each, whether the query was stopped or its capture was killed."""
    register(spark)
    shop, checkpoint = open_shop(tmp_path), tmp_path / "check"
    log = tmp_path / "check.hwlog"  # beside the checkpoint
    landing = Landing()

    def begin(**trigger: Any) -> StreamingQuery:
        reader = spark.readStream.format("headwater").option("url", f"sqlite:///{shop.path}")
        frame = reader.option("checkpointLocation", str(checkpoint)).load()
        writer = frame.writeStream.foreachBatch(landing).trigger(**trigger)
        return writer.option("checkpointLocation", str(checkpoint)).start()

    query = begin(processingTime="0 seconds")
    _await(lambda: any(table == "customers" for _, table, _ in landing.rows.values()), query)
    shop.run("UPDATE customers SET name = 'live' WHERE id = 1")
    _await(lambda: any(op == "update" for op, _, _ in landing.rows.values()), query)
    assert not _free(log)
    # A second reader of that log captures nothing: it reads what the first has captured.
    beside = spark.read.format("headwater").option("url", f"sqlite:///{shop.path}")
    assert beside.option("log", str(log)).load().count() == len(landing.rows)

    os.kill(_holder(log), signal.SIGKILL)
    with pytest.raises(StreamingQueryException):
        query.awaitTermination()
    shop.run("INSERT INTO customers VALUES (900, 'between', 1.5, NULL, NULL, NULL)")
    query = begin(availableNow=True)  # what is committed by now, and then it ends
    query.awaitTermination()
    assert any(after and after.get("id") == 900 for *_, after in landing.rows.values())
    _await(lambda: _free(log))  # the capture has ended with the query

    assert landing.twice == []
    assert sorted(landing.rows) == [*range(1, _captured(log) + 1)]
    with shop.db:
        names = {row[0]: row[1] for row in shop.db.execute("SELECT id, name FROM customers")}
    told = {after["id"]: after["name"] for _, table, after in _in_order(landing, "customers")}
    assert told == names


def _in_order(landing: Landing, table: str) -> list[tuple[str, str, Any]]:
    rows = [landing.rows[number] for number in sorted(landing.rows)]
    return [row for row in rows if row[1] == table and row[2] is not None]


def test_postgresql_is_captured_by_the_stream_and_its_password_is_nowhere(
    spark: SparkSession, postgres_database: PostgresDatabase, tmp_path: Path
) -> None:
    """INV-12: the URL is a reference in plans, progress, checkpoint and log."""
    register(spark)
    postgres_database.sql(
        "CREATE TABLE parts (id integer PRIMARY KEY, name text); INSERT INTO parts VALUES (1, 'a')"
    )
    slot = publish(postgres_database, publication=postgres_database.name).slot
    dsn = postgres_database.dsn()
    (tmp_path / "url").write_text(dsn)
    log, landing = tmp_path / "parts.hwlog", Landing()
    reader = spark.readStream.format("headwater").option("slot", slot).option("log", str(log))
    frame = reader.option("tables", "parts").load(f"${{file:{tmp_path}/url}}")
    writer = frame.writeStream.foreachBatch(landing).trigger(processingTime="0 seconds")
    query = writer.option("checkpointLocation", str(tmp_path / "check")).start()
    _await(landing.has(1), query)
    postgres_database.sql("INSERT INTO parts VALUES (2, 'b'); DELETE FROM parts WHERE id = 1")
    _await(landing.has(3), query)
    shown = [str(frame._jdf.queryExecution()), str(query.lastProgress)]
    query.stop()
    _await(lambda: _free(log))
    assert [landing.rows[number][0] for number in (1, 2, 3)] == ["read", "insert", "delete"]
    # What the log holds was confirmed: the server keeps no change for this slot (INV-2).
    postgres_database.sql("INSERT INTO parts VALUES (3, 'c')")
    again = spark.read.format("headwater").option("slot", slot).option("log", str(log))
    assert again.load(f"${{file:{tmp_path}/url}}").where("op = 'insert'").count() == 2

    password = dsn.split("@")[0].rsplit(":", 1)[1]
    shown += [each.read_text() for each in (tmp_path / "check").rglob("[!.]*") if each.is_file()]
    assert all(password not in text for text in shown)
    assert password.encode() not in log.read_bytes()
    with pytest.raises(
        AnalysisException, match=r"\[spark-option\] a password is not written"
    ) as no:
        spark.read.format("headwater").option("log", str(log)).load(dsn)
    assert password not in str(no.value)
    with pytest.raises(AnalysisException, match=r"\[spark-option\] the option log is missing"):
        spark.read.format("headwater").option("url", f"${{file:{tmp_path}/url}}").load()
