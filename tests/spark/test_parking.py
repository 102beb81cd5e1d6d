"""A table that fails is parked with its place; the others go on, and later it catches up."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob, as_of
from headwater.app.spark.meter import SparkMeter
from headwater.errors import ConfigError
from headwater.log import RetentionPolicy
from headwater.spark.apply.report import Reports
from headwater.testing.scripted import MemoryMetrics
from tests.shop import open_shop
from tests.spark.theirs import theirs

pytestmark = pytest.mark.spark

PLACE = "spark:customers@mirror"


def test_failing_table_is_parked_and_catches_up_while_the_others_go_on(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    """INV-10: nothing is guessed at. Retention waits for the place; status and metrics tell."""
    shop, target = open_shop(tmp_path), tmp_path / "lake"
    session, customers = theirs(spark, table_format, target / "customers")
    session.sql(f"CREATE TABLE {customers} (id bigint, name int) USING {table_format}")
    shop.drain()
    metrics = MemoryMetrics()
    said = shop.log.path, str(target), table_format
    job = TableJob(*said, max_events=2, reports=Reports(SparkMeter(metrics)))

    with pytest.raises(ConfigError) as caught:
        job.run_once(spark)

    assert caught.value.code == "spark-type-changed"
    head = shop.log.info().bounds.head
    assert _rows(spark, job, "orders") == 3
    status = job.status()
    assert status["orders@mirror"]["parked"] is None
    assert status["customers@mirror"]["parked"] == "spark-type-changed"
    assert metrics.gauges["headwater_spark_table_parked"] == 1
    assert metrics.gauges["headwater_spark_sequence"] == head
    assert metrics.counters["headwater_spark_table_events_total"] == 3
    acked = {cursor.name: cursor.acked for cursor in shop.log.info().cursors}
    assert acked == {"spark": head, PLACE: 0}

    with pytest.raises(ConfigError) as caught:  # nothing is new in the log, and it is tried again
        TableJob(*said).run_once(spark)
    assert caught.value.code == "spark-type-changed"

    shop.run("UPDATE customers SET name = 'Adele' WHERE id = 1", "DELETE FROM orders")
    head = shop.drain()
    assert shop.log.retain(RetentionPolicy(max_bytes=1)).held_by == PLACE
    with pytest.raises(ConfigError):
        TableJob(*said).run_once(spark)
    assert _rows(spark, job, "orders") == 0

    if table_format == "delta":
        mapped = "'delta.columnMapping.mode' = 'name'"
        session.sql(f"ALTER TABLE {customers} SET TBLPROPERTIES ({mapped})")
    session.sql(f"ALTER TABLE {customers} DROP COLUMN name")
    session.sql(f"ALTER TABLE {customers} ADD COLUMN _headwater_sequence bigint")
    assert TableJob(*said).run_once(spark) == head
    names = session.table(customers).where("id < 3").orderBy("id").select("name").collect()
    assert [row["name"] for row in names] == ["Adele", 'B"o\n']
    assert [cursor.name for cursor in shop.log.info().cursors] == ["spark"]


def test_others_go_on_when_a_table_fails_by_an_error_of_spark_or_cannot_be_opened(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Alone in a batch, on a quiet log, and with a log that another engine has made unreadable."""
    shop, target = open_shop(tmp_path), tmp_path / "lake"
    job = TableJob(shop.log.path, str(target))
    shop.drain()
    first = job.run_once(spark)
    customers = f"delta.`{target}/customers`"
    spark.sql(f"ALTER TABLE {customers} ADD CONSTRAINT small CHECK (id <> 7)")
    shop.run("INSERT INTO customers (id, name) VALUES (7, 'seven')")
    shop.drain()
    for _ in range(2):  # the second time with nothing new in the log
        with pytest.raises(Exception, match="CHECK constraint"):
            job.run_once(spark)
        assert {cursor.name for cursor in shop.log.info().cursors} == {"spark", PLACE}
    assert as_of(spark, str(target)).sequence == first
    newest = max((target / "customers" / "_delta_log").glob("*.json"))
    told = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["ours"],'
    number = int(newest.stem) + 1
    hidden = newest.with_name(f"{number:020}.json")
    hidden.write_text(f'{told}"writerFeatures":["ours"]}}}}\n')
    shop.run("DELETE FROM orders")
    head = shop.drain()
    with pytest.raises(Exception, match=r"(?i)feature"):
        job.run_once(spark)
    assert _rows(spark, job, "orders") == 0
    acked = {cursor.name: cursor.acked for cursor in shop.log.info().cursors}
    assert acked["spark"] == head
    hidden.unlink()
    spark.sql(f"ALTER TABLE {customers} DROP CONSTRAINT small")
    assert job.run_once(spark) == head
    assert as_of(spark, str(target)).sequence == head


def _rows(spark: SparkSession, job: TableJob, table: str) -> int:
    return spark.read.format(job.table_format).load(f"{job.target}/{table}").count()
