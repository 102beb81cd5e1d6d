"""The source, Delta, Iceberg and an applier in plain Python agree, though a driver was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob
from headwater.event import Operation, TableSchema, encode_row
from headwater.spark.proof.rows import as_stored, stored_rows
from headwater.spark.table.iceberg import IcebergTargets
from tests.shop import Shop, open_shop
from tests.spark.oracle import Oracle
from tests.spark.test_mirror import ROUNDS, _schemas, _source_rows

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

FORMATS: tuple[TableFormat, ...] = ("delta", "iceberg")
ROOT = Path(__file__).parents[3]


def test_source_delta_iceberg_and_a_python_applier_agree_when_a_driver_was_killed(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Killed when rows were in a branch and not yet in a table: that branch is never seen."""
    shop = open_shop(tmp_path)
    shop.drain()
    killed = _driver(shop, tmp_path / "iceberg", "spark.iceberg.before_publish=kill@2")
    assert killed == -signal.SIGKILL, (tmp_path / "driver.log").read_text()[-1500:]
    for statements in ROUNDS:
        shop.run(*statements)
    shop.drain()
    head = shop.log.info().bounds.head
    for kind in FORMATS:
        job = TableJob(shop.log.path, str(tmp_path / kind), kind, consumer=kind)
        assert job.run_once(spark) == head
    for name, schema in _schemas(shop).items():
        truth = sorted(map(encode_row, _source_rows(shop, schema)))
        assert _applied(shop, schema) == truth, name
        for kind in FORMATS:
            frame = spark.read.format(kind).load(str(tmp_path / kind / name))
            assert sorted(map(encode_row, stored_rows(frame, schema))) == truth, (kind, name)
        targets = IcebergTargets(str(tmp_path / "iceberg"), shop.log.reader().log_id)
        assert list(targets.open(spark, schema.table, "mirror")._table().refs()) == ["main"]


def _driver(shop: Shop, target: Path, failpoints: str) -> int:
    with (shop.path.parent / "driver.log").open("wb") as output:
        return subprocess.run(
            [sys.executable, "-m", "tests.spark.iceberg.driver", str(shop.log.path), str(target)],
            cwd=ROOT,
            env=os.environ
            | {
                "HEADWATER_FAILPOINT": failpoints,
                "HEADWATER_SPARK_LOG": str(shop.path.parent / "spark"),
            },
            stdout=output,
            stderr=output,
            check=False,
        ).returncode


def _applied(shop: Shop, schema: TableSchema) -> list[str]:
    """The log, event by event, in plain Python."""
    oracle = Oracle(tuple(column.name for column in schema.columns))
    for batch in shop.log.reader().read(0):
        for event in batch:
            if event.table == schema.table.name and event.op is not Operation.SCHEMA_CHANGE:
                oracle.hear(event)
    return sorted(encode_row(as_stored(encode_row(row), schema)) for row in oracle.rows.values())
