"""Small files are written together between batches, without a change of any row."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableJob
from headwater.app.spark.meter import SparkMeter
from headwater.event import TableId
from headwater.spark.apply.report import Reports
from headwater.spark.keep.keeper import KeepPolicy
from headwater.spark.modes import Mode
from headwater.spark.table.delta import DeltaTargets
from headwater.spark.table.deltalog import newest, retention_ms
from headwater.testing.scripted import MemoryMetrics
from tests.shop import Shop, open_shop

pytestmark = pytest.mark.spark

_CUSTOMERS: tuple[TableId, Mode] = (TableId(None, "customers"), "mirror")
_COST = "headwater_spark_table_write_amplification"
_NOT_NOW = KeepPolicy(compact=False, retain_s=None)
_HOUR_S, _DAY_S = 3600, 24 * 3600


def test_table_of_many_small_files_is_compacted_and_stays_equal(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop, target, metrics = open_shop(tmp_path), tmp_path / "lake", MemoryMetrics()
    shop.drain()
    for number in range(3, 8):
        shop.run(f"INSERT INTO customers (id, name) VALUES ({number}, 'n')", "DELETE FROM orders")
    shop.run("DELETE FROM customers WHERE id = 5")
    shop.drain(max_events=1)
    job = TableJob(
        shop.log.path,
        str(target),
        tables=("customers",),
        max_events=2,
        maintenance=KeepPolicy(surplus=-1),
        reports=Reports(SparkMeter(metrics)),
    )
    job.run_once(spark)

    history = spark.sql(f"DESCRIBE HISTORY delta.`{target}/customers`").collect()
    made = [row["operation"] for row in history]
    assert "OPTIMIZE" in made
    assert "VACUUM END" not in made, "a new table has no old files"
    positions = [row["userMetadata"] for row in history if row["operation"] == "OPTIMIZE"]
    assert set(positions) == {None}, "only what moves rows carries a position"
    assert metrics.counters["headwater_spark_compactions_total"] == made.count("OPTIMIZE")
    assert metrics.gauges["headwater_spark_table_files"] <= 6
    assert metrics.gauges[_COST] == 1.0, "the last batch only added rows"
    now = DeltaTargets(job.location, shop.log.reader().log_id).upkeep(spark, *_CUSTOMERS).files()
    assert metrics.gauges["headwater_spark_table_files"] == now.count
    assert metrics.gauges["headwater_spark_table_bytes"] == now.bytes
    held = spark.read.format("delta").load(str(target / "customers")).collect()
    wanted = shop.db.execute("SELECT id, name FROM customers").fetchall()
    assert sorted((row["id"], row["name"]) for row in held) == sorted(wanted)

    _marks_are_a_small_part_of_what_a_batch_costs(spark, shop, job, metrics)
    _retention_follows_and_the_stream_goes_on(spark, shop, job)
    # One row of the file was updated, and all that it has were written.
    assert metrics.gauges[_COST] > 50


def _marks_are_a_small_part_of_what_a_batch_costs(
    spark: SparkSession, shop: Shop, job: TableJob, metrics: MemoryMetrics
) -> None:
    rows = ", ".join(f"({number}, 'n')" for number in range(100, 400))
    shop.run(
        f"INSERT INTO customers (id, name) VALUES {rows}",
        "UPDATE customers SET name = 'm' WHERE id = 3",
    )
    shop.drain()
    replace(job, max_events=None, maintenance=_NOT_NOW).run_once(spark)
    assert 1 < metrics.gauges[_COST] < 1.1


def _retention_follows_and_the_stream_goes_on(
    spark: SparkSession, shop: Shop, job: TableJob
) -> None:
    """Commits of the keeper carry no position of ours, and none that a batch would miss."""
    targets = DeltaTargets(job.location, shop.log.reader().log_id)
    before = targets.open(spark, *_CUSTOMERS).standing()
    upkeep = targets.upkeep(spark, *_CUSTOMERS)
    made_at = upkeep.expired_at()
    for days in (40, 0):
        upkeep.expire(days * _DAY_S)
    assert upkeep.expired_at() > made_at
    after = targets.open(spark, *_CUSTOMERS).standing()
    assert after.applied == before.applied > 0
    unmarked = "'delta.enableDeletionVectors' = 'false'"
    spark.sql(f"ALTER TABLE delta.`{job.target}/customers` SET TBLPROPERTIES ({unmarked})")
    shop.run("UPDATE customers SET name = 'kept' WHERE id = 250")
    shop.drain()
    replace(job, maintenance=KeepPolicy(compact=False, retain_s=0)).run_once(spark)
    history = spark.sql(f"DESCRIBE HISTORY delta.`{job.target}/customers`").orderBy("version")
    vacuums = history.where("operation = 'VACUUM START'").collect()
    kept = [int(row["operationParameters"]["defaultRetentionMillis"]) for row in vacuums]
    # A writer has an hour to commit its files.
    assert kept == [40 * _DAY_S * 1000, _HOUR_S * 1000, _HOUR_S * 1000]
    assert history.where("operation = 'SET TBLPROPERTIES'").count() == 1 + 2
    found = newest(spark, f"{job.target}/customers")
    assert retention_ms(spark, found) == (_HOUR_S * 1000, 40 * _DAY_S * 1000)
    held = spark.read.format("delta").load(f"{job.target}/customers")
    assert [row["name"] for row in held.where("id = 250").collect()] == ["kept"]
