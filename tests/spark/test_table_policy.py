"""Tables that are emptied or dropped at the source, and tables without a key: by policy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob, as_of
from headwater.app.spark.targets import targets_of
from headwater.contract import SnapshotProgress
from headwater.errors import ConfigError
from headwater.event import EVENT_SCHEMA, EventBatch, Operation, encode_row
from headwater.log import SqliteLog
from headwater.spark.apply.report import Reports
from headwater.spark.policy import TablePolicy
from headwater.testing.builders import IDENTITY, ITEMS, TS_MS, inserts, source_batch
from tests.shop import open_shop

pytestmark = pytest.mark.spark

TRUNCATED, DROPPED = 4, 6


def _about(op: Operation, table: str, after: str | None = None) -> EventBatch:
    return EventBatch.from_columns(
        {
            "op": [int(op)],
            "source_name": IDENTITY.name,
            "source_ts_ms": TS_MS,
            "ts_ms": TS_MS,
            "table_name": table,
            "schema_id": ITEMS.schema_id if after is None else 0,
            "after": after,
        }
    )


def _log(folder: Path) -> SqliteLog:
    log = SqliteLog.create(folder / "items.hwlog")
    _append(log, 0, inserts(1, 3))
    return log


def _append(log: SqliteLog, number: int, *batches: EventBatch) -> None:
    writer = log.writer(IDENTITY)
    for place, events in enumerate(batches):
        writer.append(source_batch(events, number + place))
    writer.close()


def _end(log: SqliteLog) -> None:
    """The table is truncated, gets a row, and goes; one that nobody knew goes with it."""
    statements = [
        encode_row({"ddl_type": "DROP_TABLE", "schema": None, "table": table, "statement": "DROP"})
        for table in ("items", "unheard_of")
    ]
    _append(
        log,
        10,
        _about(Operation.TRUNCATE, "items"),
        inserts(5, 1),
        *(_about(Operation.SCHEMA_CHANGE, "items__ddl_events", each) for each in statements),
    )


def _tell_nothing(log: SqliteLog) -> None:
    """A table that is parked is tried again with the next batch."""
    image = encode_row({"ddl_type": "ALTER_TABLE", "schema": None, "table": "other"})
    _append(log, log.info().bounds.head, _about(Operation.SCHEMA_CHANGE, "x__ddl_events", image))


class Rows:
    """What a job's tables hold."""

    def __init__(self, spark: SparkSession, job: TableJob) -> None:
        self._read = spark.read.format(job.table_format)
        self._target = job.target

    def __call__(self, folder: str, *columns: str) -> list[Any]:
        frame = self._read.load(f"{self._target}/{folder}").selectExpr(*columns)
        return sorted(tuple(row) for row in frame.collect())


def test_rows_stay_at_a_truncate_and_go_with_the_table(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    log, target = _log(tmp_path), tmp_path / "lake"
    job = TableJob(
        log.path,
        str(target),
        table_format,
        modes={"mirror": ["*"], "soft_delete": ["*"], "scd2": ["*"], "append_log": ["*"]},
        table_policy=TablePolicy(on_truncate="ignore", on_drop="empty"),
    )
    rows = Rows(spark, job)
    job.run_once(spark)
    _append(log, 10, _about(Operation.TRUNCATE, "items"), inserts(5, 1))
    job.run_once(spark)
    assert rows("items", "id") == [(1,), (2,), (3,), (5,)]
    assert rows("items@scd2", "id") == [(1,), (2,), (3,), (5,)]

    gone = encode_row({"ddl_type": "DROP_TABLE", "schema": None, "table": "items"})
    _append(log, 20, _about(Operation.SCHEMA_CHANGE, "items__ddl_events", gone))
    assert job.run_once(spark) == DROPPED
    assert rows("items", "id") == []
    ended = rows("items@scd2", "id", "_headwater_to_sequence")
    assert ended == [(number, DROPPED) for number in (1, 2, 3, 5)]
    marked = rows("items@soft_delete", "id", "_headwater_deleted")
    assert marked == [(number, True) for number in (1, 2, 3, 5)]
    ops = rows("items@append_log", "_headwater_sequence", "_headwater_op")
    assert ops[3:] == [(TRUNCATED, "truncate"), (5, "insert")]
    assert as_of(spark, target).sequence == DROPPED


def test_rows_go_with_a_table_that_is_dropped_while_it_is_loaded(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    """Nothing but the drop may be told of it meanwhile, and it may be made anew under its name."""
    gone = encode_row({"ddl_type": "DROP_TABLE", "schema": None, "table": "items"})
    drop = _about(Operation.SCHEMA_CHANGE, "items__ddl_events", gone)
    log, target = SqliteLog.create(tmp_path / "items.hwlog"), tmp_path / "lake"
    job = TableJob(
        log.path,
        str(target),
        table_format,
        modes={"mirror": ["*"], "scd2": ["*"]},
        table_policy=TablePolicy(on_drop="empty"),
    )
    rows, targets = Rows(spark, job), targets_of(table_format, job.location, log.reader().log_id)
    assert targets is not None
    for number, (events, owed) in enumerate(
        ((_read(1, 3), True), (drop, True), (_read(7, 1), True), (_read(8, 1), False))
    ):
        _owing(log, number, events, owed=owed)
        job.run_once(spark)
        standing = targets.open(spark, ITEMS.table, "mirror").standing()
        assert (standing.version is None) == owed
    assert rows("items", "id") == [(7,), (8,)]
    versions = rows("items@scd2", "id", "coalesce(_headwater_to_sequence, 0)")
    assert versions == [(1, 4), (2, 4), (3, 4), (7, 0), (8, 0)]


def _read(first: int, count: int) -> EventBatch:
    """Rows of a snapshot."""
    told = inserts(first, count)
    columns = {name: told.column(name) for name in EVENT_SCHEMA.names}
    return EventBatch.from_columns(columns | {"op": int(Operation.READ)})


def _owing(log: SqliteLog, number: int, events: EventBatch, *, owed: bool) -> None:
    """More rows of the table are to come, or no more."""
    writer = log.writer(IDENTITY)
    progress = SnapshotProgress(str(ITEMS.table), 0, None, done=not owed)
    batch = source_batch(events, number)
    writer.append(replace(batch, owed=(ITEMS.table,) if owed else (), progress=progress))
    writer.close()


def test_table_stops_where_its_policy_says_and_goes_on_by_another(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    log, target = _log(tmp_path), tmp_path / "lake"
    job = TableJob(log.path, str(target), table_format, table_policy=TablePolicy("halt", "halt"))
    rows = Rows(spark, job)
    job.run_once(spark)
    _end(log)
    for policy, code in (
        (TablePolicy("halt", "halt"), "spark-truncated"),
        (TablePolicy("apply", "halt"), "spark-dropped"),
    ):
        _tell_nothing(log)
        with pytest.raises(ConfigError) as caught:
            replace(job, table_policy=policy, reports=Reports()).run_once(spark)
        assert caught.value.code == code
        assert rows("items", "id") == [(1,), (2,), (3,)]
    _tell_nothing(log)
    replace(job, table_policy=TablePolicy("apply", "empty"), reports=Reports()).run_once(spark)
    assert rows("items", "id") == []
    assert {each.name for each in log.info().cursors} == {"spark"}


def test_tables_without_a_key_are_logs_by_policy(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    shop = open_shop(tmp_path)
    shop.run("CREATE TABLE keyless (a TEXT)", "INSERT INTO keyless VALUES ('x'), ('x')")
    shop.drain()
    logs, policy = tmp_path / "logs", TablePolicy(on_no_key="append_log")
    job = TableJob(shop.log.path, str(logs), table_format, tables=("c*", "k*"), table_policy=policy)
    job.run_once(spark)
    rows = Rows(spark, job)
    assert rows("keyless@append_log", "a") == [("x",), ("x",)]
    assert not (logs / "keyless").exists()
    there = {(each.table, each.mode) for each in as_of(spark, logs).tables}
    assert there == {("keyless", "append_log"), ("customers", "mirror")}
