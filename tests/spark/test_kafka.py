"""Events through a real Kafka: out with Spark's sink, in with its source, into Delta tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark import KafkaJob, Topic, kafka_records, read_kafka, write_kafka
from headwater.errors import ConfigError
from headwater.event import EventBatch
from headwater.spark.source.frame import to_spark
from tests.shop import Shop, open_shop

pytestmark = pytest.mark.spark


def _events(spark: SparkSession, shop: Shop) -> DataFrame:
    return spark.readStream.format("headwater").load(str(shop.log.path))


def _held(spark: SparkSession, lake: Path) -> dict[int, str]:
    rows = spark.read.format("delta").load(f"{lake}/customers").select("id", "name").collect()
    return {row["id"]: row["name"] for row in rows}


def _expected(shop: Shop) -> dict[int, str]:
    return dict(shop.db.execute("SELECT id, name FROM customers").fetchall())


def test_tables_are_kept_from_a_topic_whatever_comes_twice(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    head = shop.drain()
    place, job = Topic(kafka, topic), KafkaJob(Topic(kafka, topic), str(lake))

    def write(checkpoint: str) -> None:
        events, folder = _events(spark, shop), str(tmp_path / checkpoint)
        write_kafka(events, place, log=shop.log.path, checkpoint=folder).awaitTermination()

    write("out")
    back = read_kafka(spark, place, stream=False).toArrow().combine_chunks().to_batches()[0]
    stored = to_spark(EventBatch.concat(list(shop.log.reader().read(0))))
    assert back.num_rows == head
    for name in ("sequence_number", "event_id", "op", "table", "after", "schema_id", "context"):
        assert back.column(name).equals(stored.column(name)), name

    assert read_kafka(spark, place).isStreaming
    job.run_once(spark)
    assert _held(spark, lake) == _expected(shop)
    # The shapes were told once, and a job that starts anew has them from the lake.
    shop.run("UPDATE customers SET name = 'new' WHERE id = 1", "DELETE FROM customers WHERE id = 2")
    shop.drain()
    write("out")
    write("again")  # from the beginning: every record a second time
    job.run_once(spark)
    assert _held(spark, lake) == _expected(shop)
    history = spark.sql(f"DESCRIBE HISTORY delta.`{lake}/customers`").collect()
    noted = [json.loads(row["userMetadata"] or "{}") for row in history]
    assert max(note["headwater"]["sequence"] for note in noted if "headwater" in note) > head


def test_topic_of_several_partitions_is_refused(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    shop = open_shop(tmp_path)
    shop.drain()
    records = kafka_records(spark.read.format("headwater").load(str(shop.log.path)), shop.log.path)
    apply = KafkaJob(Topic(kafka, topic), str(tmp_path / "lake"))._apply()
    with pytest.raises(ConfigError, match="several partitions"):
        apply(records.selectExpr("key", "value", "headers", "1 AS partition"), 0)
    apply(records.selectExpr("key", "value", "headers", "0 AS partition"), 0)
    assert _held(spark, tmp_path / "lake") == _expected(shop)
