"""Small files are written together between batches, without a change of any row."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableJob
from headwater.app.spark.meter import SparkMeter
from headwater.spark.apply.report import Reports
from headwater.spark.keep.keeper import KeepPolicy
from headwater.testing.scripted import MemoryMetrics
from tests.shop import open_shop

pytestmark = pytest.mark.spark


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
        maintenance=KeepPolicy(surplus=-1, retain_s=7 * 24 * 3600),
        reports=Reports(SparkMeter(metrics)),
    )
    job.run_once(spark)

    history = spark.sql(f"DESCRIBE HISTORY delta.`{target}/customers`").collect()
    made = [row["operation"] for row in history]
    assert "OPTIMIZE" in made
    assert "VACUUM END" in made
    positions = [row["userMetadata"] for row in history if row["operation"] == "OPTIMIZE"]
    assert set(positions) == {None}, "only what moves rows carries a position"
    assert metrics.counters["headwater_spark_compactions_total"] == made.count("OPTIMIZE")
    assert metrics.gauges["headwater_spark_table_files"] <= 6
    assert metrics.gauges["headwater_spark_table_write_amplification"] == 1.0
    held = spark.read.format("delta").load(str(target / "customers")).collect()
    wanted = shop.db.execute("SELECT id, name FROM customers").fetchall()
    assert sorted((row["id"], row["name"]) for row in held) == sorted(wanted)
