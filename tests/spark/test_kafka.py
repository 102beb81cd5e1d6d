"""Events through a real Kafka: out with Spark's sink, in with its source, into Delta tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark import KafkaJob, Topic, kafka_records, read_kafka, write_kafka
from headwater.app.spark.meter import SparkMeter
from headwater.errors import ConfigError, GapError
from headwater.event import EventBatch
from headwater.log import SqliteLog
from headwater.spark.apply.records import Shapes
from headwater.spark.apply.report import Reports
from headwater.spark.keep.keeper import KeepPolicy
from headwater.spark.policy import SchemaPolicy, TablePolicy
from headwater.spark.source.frame import to_spark
from headwater.testing.scripted import MemoryMetrics
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

    _assert_read_by_url(spark, f"kafka://{kafka}/{topic}", stored, tmp_path / "by-url")
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


def test_job_of_a_topic_heeds_policies_and_keeps_files_few(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    shop.run("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('no key')")
    place, metrics = Topic(kafka, topic), MemoryMetrics()
    job = KafkaJob(
        place,
        str(lake),
        table_policy=TablePolicy(on_no_key="append_log"),
        maintenance=KeepPolicy(surplus=-1),
        reports=Reports(SparkMeter(metrics)),
    )
    for number in range(3):
        shop.run(f"INSERT INTO customers (id, name) VALUES (1{number}, 'n')")
        shop.drain()
        events, folder = _events(spark, shop), str(tmp_path / "out")
        write_kafka(events, place, log=shop.log.path, checkpoint=folder).awaitTermination()
        job.run_once(spark)
    assert _held(spark, lake) == _expected(shop)
    assert spark.read.format("delta").load(f"{lake}/notes@append_log").count() == 1
    assert metrics.counters["headwater_spark_compactions_total"] > 0
    with pytest.raises(ConfigError, match="a topic does not lead there"):
        KafkaJob(place, str(lake), schema_policy=SchemaPolicy(on_add="backfill"))


def _assert_read_by_url(
    spark: SparkSession, url: str, stored: pa.RecordBatch, checkpoint: Path
) -> None:
    """The client alone, without the connector: in one read, and as a stream in several."""
    reader = spark.read.format("headwater")
    back = reader.option("partitions", 3).load(url).orderBy("sequence_number").toArrow()
    assert back.combine_chunks().to_batches()[0].equals(stored)
    numbers = stored.column("sequence_number").to_pylist()
    reader = spark.read.format("headwater").option("startingSequence", numbers[1])
    some = reader.option("endingSequence", numbers[3]).option("tables", "cust*").load(url)
    assert _numbers(some) == numbers[2:3]  # the one after it is of another table
    reader = spark.read.format("headwater")
    assert reader.option("startingTime", "2100-01-01").load(url).isEmpty()
    assert _numbers(reader.option("startingTime", "2020-01-01").load(url)) == numbers

    seen: list[list[int]] = []
    events = spark.readStream.format("headwater").option("maxRowsPerTrigger", 4).load(url)
    for _ in range(2):  # the second time there is nothing more
        writer = events.writeStream.foreachBatch(lambda batch, _: seen.append(_numbers(batch)))
        writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        writer.start().awaitTermination()
    assert seen == [numbers[at : at + 4] for at in range(0, len(numbers), 4)]


def _numbers(events: DataFrame) -> list[int]:
    return sorted(row["sequence_number"] for row in events.select("sequence_number").collect())


def test_topic_by_url_is_refused_when_it_is_no_log_or_has_lost_records(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    """INV-9: records that the broker has let go are a gap, in a read and in a stream."""
    admin = AdminClient({"bootstrap.servers": kafka})
    several = f"{topic}-wide"
    admin.create_topics([NewTopic(several, 2, 1)])[several].result()
    for name, said in ((f"{topic}-none", "is not there"), (several, "has 2 partitions")):
        with pytest.raises(PySparkException, match=said):
            spark.read.format("headwater").load(f"kafka://{kafka}/{name}").count()

    shop = open_shop(tmp_path)
    head = shop.drain()
    events = spark.readStream.format("headwater").load(f"kafka://{kafka}/{topic}")

    def write_and_read(checkpoint: str) -> None:
        written, folder = _events(spark, shop), str(tmp_path / checkpoint)
        place = Topic(kafka, topic)
        write_kafka(written, place, log=shop.log.path, checkpoint=folder).awaitTermination()
        followed = events.writeStream.format("noop").trigger(availableNow=True)
        followed = followed.option("checkpointLocation", str(tmp_path / "in"))
        admin.delete_records([gone])[gone].result()
        followed.start().awaitTermination()

    gone = TopicPartition(topic, 0, 0)
    write_and_read("out")
    gone = TopicPartition(topic, 0, head + 1)  # the stream is at `head`
    with pytest.raises(StreamingQueryException, match="kafka-gap"):
        write_and_read("again")
    assert spark.read.format("headwater").load(f"kafka://{kafka}/{topic}").count() == head - 1


def test_target_belongs_to_one_log_and_shapes_keep_their_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Numbers of another log would be taken for older changes; the first shape says the mode."""
    frames = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        shop = open_shop(tmp_path / name)
        shop.run("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('no key')")
        shop.drain()
        events = spark.read.format("headwater").load(str(shop.log.path))
        records = kafka_records(events, shop.log.path)
        frames.append(records.selectExpr("key", "value", "headers", "0 AS partition"))
    job = KafkaJob(Topic("nowhere:1", "t"), str(tmp_path / "lake"))
    policy = TablePolicy(on_no_key="skip")
    replace(job, table_policy=policy)._apply()(frames[0], 0)
    for apply in (replace(job, table_policy=policy)._apply(), job._apply()):
        with pytest.raises(GapError) as caught:
            apply(frames[1], 1)
        assert caught.value.code == "spark-other-log"
    shapes = Shapes(str(tmp_path / "shapes"))
    (first, keyless), *_ = SqliteLog(tmp_path / "one/shop.hwlog").reader().schemas()
    keyed = SqliteLog(tmp_path / "one/shop.hwlog").reader().schemas()[-1][1]
    shapes.learn(spark, {keyed.encode(): first + 9})
    shapes.learn(spark, {keyless.encode(): first})
    again = Shapes(str(tmp_path / "shapes"))
    again.learn(spark, {})
    assert again.schemas() == shapes.schemas() == ((first, keyless), (first + 9, keyed))
    with pytest.raises(ConfigError, match="not in a topic"):
        replace(job, table_policy=TablePolicy(on_drop="empty"))


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
