"""Events through a real Kafka: out with Spark's sink, in with its source, into Delta tables."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.app.spark import (
    KafkaJob,
    Topic,
    kafka_records,
    read_kafka,
    write_kafka,
)
from headwater.app.spark.meter import SparkMeter
from headwater.errors import ConfigError, DataError, GapError
from headwater.event import EventBatch
from headwater.log import SqliteLog
from headwater.spark.apply.records import Shapes
from headwater.spark.apply.report import Reports
from headwater.spark.keep.keeper import KeepPolicy
from headwater.spark.policy import SchemaPolicy, TablePolicy
from headwater.spark.progress import BatchReport
from headwater.spark.source.frame import to_spark
from headwater.testing.scripted import MemoryMetrics
from tests.shop import Shop, open_shop

pytestmark = pytest.mark.spark


def _events(spark: SparkSession, shop: Shop) -> DataFrame:
    return spark.readStream.format("headwater").load(str(shop.log.path))


def _held(spark: SparkSession, lake: Path, table_format: str = "delta") -> dict[int, str]:
    rows = spark.read.format(table_format).load(f"{lake}/customers").select("id", "name").collect()
    return {row["id"]: row["name"] for row in rows}


def _expected(shop: Shop) -> dict[int, str]:
    return dict(shop.db.execute("SELECT id, name FROM customers").fetchall())


def test_tables_are_kept_from_a_topic_whatever_comes_twice(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    head = shop.drain()
    place = Topic(kafka, topic)
    # By several tasks at once: the order of rows in a batch means nothing.
    heard: list[BatchReport] = []
    job = KafkaJob(
        replace(place, options={"minPartitions": "3"}),
        str(lake),
        reports=Reports(Hearing(MemoryMetrics(), heard)),
    )

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
    later = shop.drain()
    write("out")
    write("again")  # from the beginning: every record a second time
    job.run_once(spark)
    assert _held(spark, lake) == _expected(shop)
    # Places are those of events, and what came twice is counted twice.
    told = [(each.sequence, each.events) for each in heard]
    assert told == [(head, head), (later, later - head + later)]
    history = spark.sql(f"DESCRIBE HISTORY delta.`{lake}/customers`").collect()
    noted = [json.loads(row["userMetadata"] or "{}") for row in history]
    assert max(note["headwater"]["sequence"] for note in noted if "headwater" in note) > head


def test_job_of_a_topic_heeds_policies_and_keeps_files_few(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    shop.run("CREATE TABLE notes (text TEXT)", "INSERT INTO notes VALUES ('no key')")
    place, metrics = Topic(kafka, topic), MemoryMetrics()
    heard: list[BatchReport] = []
    job = KafkaJob(
        place,
        str(lake),
        table_policy=TablePolicy(on_no_key="append_log"),
        maintenance=KeepPolicy(surplus=-1),
        reports=Reports(Hearing(metrics, heard)),
        interval_s=60.0,  # for `start`: to run once is to end
        max_records=5,
    )
    for number in range(3):
        shop.run(f"INSERT INTO customers (id, name) VALUES (1{number}, 'n')")
        head = shop.drain()
        events, folder = _events(spark, shop), str(tmp_path / "out")
        write_kafka(events, place, log=shop.log.path, checkpoint=folder).awaitTermination()
        job.run_once(spark)
    assert _held(spark, lake) == _expected(shop)
    assert spark.read.format("delta").load(f"{lake}/notes@append_log").count() == 1
    assert metrics.counters["headwater_spark_compactions_total"] > 0
    # What is told of each micro-batch, while the first run went through the topic in some of them.
    assert len(heard) > 3
    assert sum(each.events for each in heard) == head
    first, last = heard[0], heard[-1]
    assert (first.sequence, first.events, first.waiting) == (5, 5, head - 5 - 2)
    assert (last.sequence, last.waiting) == (head, 0)
    assert last.seconds > 0
    assert metrics.gauges["headwater_spark_sequence"] == head
    with pytest.raises(ConfigError, match="a topic does not lead there"):
        KafkaJob(place, str(lake), schema_policy=SchemaPolicy(on_add="backfill"))


@dataclass(frozen=True, slots=True)
class Hearing(SparkMeter):
    """With every micro-batch that it is told of."""

    heard: list[BatchReport]

    def batch(self, report: BatchReport) -> None:
        self.heard.append(report)
        self.metrics.gauge("headwater_spark_sequence", report.sequence)


def test_large_batch_of_a_topic_is_read_by_several_tasks(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, tasks = open_shop(tmp_path), list[int]()
    shop.run(*(f"INSERT INTO customers (id, name) VALUES (1{place}, 'n')" for place in range(3)))
    assert shop.drain() == 9
    events, folder = _events(spark, shop), str(tmp_path / "out")
    place = Topic(kafka, topic)
    write_kafka(events, place, log=shop.log.path, checkpoint=folder).awaitTermination()

    def apply(frame: DataFrame, batch_id: int) -> None:
        del batch_id
        tasks.append(frame.rdd.getNumPartitions())

    monkeypatch.setattr(KafkaJob, "_apply", lambda _job: apply)
    job = KafkaJob(place, str(tmp_path / "few"), max_records=6)
    job.run_once(spark)
    monkeypatch.setattr("headwater.spark.source.tasks.WORTH_RECORDS", 2)
    stream = replace(job, target=str(tmp_path / "many"), interval_s=1.0).start(spark)
    try:
        stream.drain()
        assert stream.sequence == 9
    finally:
        stream.stop()
    # 6 records and 3, on 2 cores: at most 3 for a task.
    assert tasks == [1, 1, 2, 1]


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
    reader = spark.read.format("headwater")
    assert reader.load(f"kafka://{kafka}/{topic}").count() == head - 1
    with pytest.raises(PySparkException, match="kafka-gap"):
        reader.option("startingSequence", 0).load(f"kafka://{kafka}/{topic}").count()
    with pytest.raises(GapError, match="begins with event 2 of its log") as caught:
        KafkaJob(Topic(kafka, topic), str(tmp_path / "lake")).run_once(spark)
    assert caught.value.code == "kafka-gap"


def test_topic_made_anew_is_a_gap_when_it_has_outgrown_what_was_read(
    spark: SparkSession, kafka: str, topic: str, tmp_path: Path
) -> None:
    """INV-9: in a stream by URL and in a job. The same offsets are other records."""
    shop, place = open_shop(tmp_path), Topic(kafka, topic)
    job = KafkaJob(place, str(tmp_path / "lake"))
    by_url = spark.readStream.format("headwater").load(f"kafka://{kafka}/{topic}").writeStream
    by_url = by_url.format("noop").option("checkpointLocation", str(tmp_path / "in"))

    def write() -> int:
        head, events = shop.drain(), _events(spark, shop)
        folder = str(tmp_path / "out")
        write_kafka(events, place, log=shop.log.path, checkpoint=folder).awaitTermination()
        return head

    head = write()
    by_url.trigger(availableNow=True).start().awaitTermination()
    job.run_once(spark)
    _make_anew(kafka, topic)
    shop.run(*["UPDATE customers SET name = name || '+' WHERE id = 1"] * (head + 1))
    assert write() > 2 * head  # none of them is one that was written to the first topic
    with pytest.raises(StreamingQueryException, match=r"kafka-gap.*made anew"):
        by_url.trigger(availableNow=True).start().awaitTermination()
    with pytest.raises(GapError, match="made anew") as caught:
        job.run_once(spark)
    assert caught.value.code == "kafka-gap"
    shutil.rmtree(caught.value.where)
    job.run_once(spark)
    assert _held(spark, tmp_path / "lake") == _expected(shop)


def _make_anew(kafka: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": kafka})
    admin.delete_topics([topic])[topic].result()
    for _ in range(100):  # the broker removes it by and by
        try:
            admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
        except KafkaException:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{topic} is still there")


def test_topic_that_begins_late_is_a_gap_until_tables_reach_it_or_it_is_accepted(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_begins_late(spark, tmp_path, "delta")
    job = KafkaJob(Topic("nowhere:1", "t"), str(tmp_path / "lake"))
    with pytest.raises(ConfigError, match="halt or accept"):
        replace(job, on_gap="ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="delta or iceberg tables, not 'parquet'"):
        replace(job, table_format="parquet")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="no place for files"):
        replace(job, table_format="iceberg", target="catalog:ice.crm")


def assert_begins_late(
    spark: SparkSession, tmp_path: Path, table_format: Literal["delta", "iceberg"]
) -> None:
    """INV-9: what was before is nowhere, whoever removed it, unless a stream took it before."""
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    head = shop.drain()
    job = KafkaJob(Topic("nowhere:1", "t"), str(lake), table_format=table_format)
    with pytest.raises(GapError) as caught:
        job._apply()(_records(spark, shop, head - 2), 0)
    assert caught.value.code == "kafka-gap"
    assert not (lake / "_headwater" / "shapes" / "_SUCCESS").exists()  # nothing was learnt of it
    job._apply()(_records(spark, shop, 0, head - 3), 0)
    with pytest.raises(GapError, match=f"none after event {head - 3}"):
        job._apply()(_records(spark, shop, head - 2), 0)
    shop.run("UPDATE customers SET name = 'later' WHERE id = 1")
    shop.drain()
    job._apply()(_records(spark, shop, head - 3), 0)  # the checkpoint was lost, the tables not
    assert _held(spark, lake, table_format) == _expected(shop)
    other = replace(job, target=str(tmp_path / "other"), on_gap="accept")
    other._apply()(_records(spark, shop, head), 0)
    assert _held(spark, tmp_path / "other", table_format) == {1: "later"}


def test_records_without_headers_are_refused_when_all_or_some_lack_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-9: they say what happened, and not where it stands in the log."""
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    shop.drain()
    records = _records(spark, shop).persist()
    bare = records.withColumn("headers", f.expr("filter(headers, each -> false)"))
    apply = KafkaJob(Topic("nowhere:1", "t"), str(lake))._apply()
    some = _records(spark, shop, 0, 2).union(bare)
    unnumbered = f.expr("filter(headers, each -> each.key != 'headwater-sequence')")
    for frame in (bare, some, records.withColumn("headers", unnumbered)):
        with pytest.raises(DataError) as caught:
            apply(frame, 0)
        assert caught.value.code == "event-invalid"
    assert not lake.exists()  # nothing was learnt of them
    others = bare.withColumn("value", f.lit(None).cast("binary"))
    apply(records.union(others), 0)  # tombstones say nothing of their own
    assert _held(spark, lake) == _expected(shop)


def _records(
    spark: SparkSession, shop: Shop, after: int = 0, until: int | None = None
) -> DataFrame:
    """A range (after, until] of the log as a topic's records."""
    reader = spark.read.format("headwater").option("startingSequence", after)
    reader = reader if until is None else reader.option("endingSequence", until)
    records = kafka_records(reader.load(str(shop.log.path)), shop.log.path)
    return records.selectExpr("key", "value", "headers", "0 AS partition")


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
        frames.append(_records(spark, shop))
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
    records = _records(spark, shop)
    apply = KafkaJob(Topic(kafka, topic), str(tmp_path / "lake"))._apply()
    with pytest.raises(ConfigError, match="several partitions"):
        apply(records.withColumn("partition", f.lit(1)), 0)
    apply(records, 0)
    assert _held(spark, tmp_path / "lake") == _expected(shop)
