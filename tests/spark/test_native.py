"""Avro by Spark's own from_avro: the rows that our own reader gives, and the damage it tells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from headwater import formats
from headwater.app.spark import KafkaJob, Topic, decode, kafka_events, kafka_records
from headwater.errors import ConfigError
from headwater.event import Event, EventBatch, Operation
from headwater.testing.strategies import event_lists
from tests.shop import open_shop
from tests.unit.format.typed_tables import batch, change

pytestmark = pytest.mark.spark

NAME = "headwater-avro"
LAST_MS = 253_402_300_799_999  # Python's datetime ends with the year 9999


def _values(spark: SparkSession, values: list[bytes | None]) -> DataFrame:
    return spark.createDataFrame([(value,) for value in values], "value binary").coalesce(1)


def _rows(spark: SparkSession, values: list[bytes | None], *, native: bool) -> list[Row]:
    return decode(_values(spark, values), NAME, native=native).collect()


def _within(event: Event) -> Event:
    source = replace(event.source, timestamp_ms=event.source.timestamp_ms % LAST_MS)
    return replace(event, ts_ms=event.ts_ms % LAST_MS, source=source)


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(events=event_lists(min_size=25, max_size=60))
def test_native_rows_are_those_of_our_own_reader_when_any_events_were_written(
    spark: SparkSession, events: list[Event]
) -> None:
    told = change({"id": 1}, extra={"opencdc": {"+": {"a": 1}}, "debezium": {"+": {"é": "𝄞"}}})
    values: list[bytes | None] = list(
        formats.get(NAME).encode(
            EventBatch.concat([EventBatch.from_events(list(map(_within, events))), batch(told)])
        )
    )
    values.append(None)  # a tombstone of somebody else's
    found = _rows(spark, values, native=True)
    assert found == _rows(spark, values, native=False)
    assert len(found) == len(values) - 1
    assert '"é"' in found[-1]["extra"]


def test_native_reading_keeps_columns_and_types_of_the_log(spark: SparkSession) -> None:
    whole = decode(_values(spark, []), NAME)
    assert decode(_values(spark, []), NAME, native=True).dtypes == whole.dtypes


def test_native_reading_stops_at_damage_and_says_what_it_is(spark: SparkSession) -> None:
    (good,) = formats.get(NAME).encode(batch(change({"id": 1, "name": "long enough to cut"})))
    image = b'{"id":1'
    damaged = {
        "bytes follow the datum": good + b"\x02",
        "Malformed records are detected": good[:-1],
        "envelope_version is 2": _with_version(good, 2),
        "after is not a JSON object": good.replace(image, b"[" + image[1:]),
    }
    assert len(_rows(spark, [good], native=True)) == 1
    for reason, value in damaged.items():
        with pytest.raises((PySparkException, Py4JJavaError), match=reason):
            _rows(spark, [value], native=True)


def _with_version(datum: bytes, version: int) -> bytes:
    """Behind it stand only before_is_key_only and two empty lists, a byte each."""
    assert datum[-4] == 1 << 1
    return datum[:-4] + bytes([version << 1]) + datum[-3:]


def test_line_breaks_between_tokens_of_an_image_are_left_out_natively_too(
    spark: SparkSession,
) -> None:
    made = batch(change({"id": 1}, op=Operation.INSERT))
    (plain,) = formats.get(NAME).encode(made)
    compact, broken = b'{"id":1}', b'{\r\n"i":1}'
    assert plain.count(compact) == 1
    value = plain.replace(bytes([len(compact) << 1]) + compact, bytes([len(broken) << 1]) + broken)
    rows = _rows(spark, [value], native=True)
    assert rows == _rows(spark, [value], native=False)
    assert rows[0]["after"] == '{"i":1}'


def test_native_is_refused_for_a_form_that_spark_cannot_read_alone(spark: SparkSession) -> None:
    records = _values(spark, [])
    for name, registry in (("headwater-protobuf", None), (NAME, {"url": "http://127.0.0.1:9"})):
        with pytest.raises(ConfigError, match=r"\[spark-native\]"):
            decode(records, name, registry=registry, native=True)


def test_tables_are_kept_natively_from_records_with_their_headers(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop, lake = open_shop(tmp_path), tmp_path / "lake"
    shop.drain()
    events = spark.read.format("headwater").load(str(shop.log.path))
    records = kafka_records(events, shop.log.path, NAME).persist()
    found = kafka_events(records, NAME, native=True).drop("extra").collect()
    assert found == events.coalesce(1).drop("extra").collect()
    bare = records.selectExpr("key", "value", "array() AS headers")
    with pytest.raises(PySparkException, match="no header headwater-sequence"):
        kafka_events(bare, NAME, native=True).collect()

    apply = KafkaJob(Topic("nowhere:9092", "shop", NAME), str(lake), native=True)._apply()
    apply(records.selectExpr("*", "0 AS partition"), 0)
    rows = spark.read.format("delta").load(f"{lake}/customers").select("id", "name").collect()
    expected = shop.db.execute("SELECT id, name FROM customers").fetchall()
    assert sorted(map(tuple, rows)) == sorted(expected)
    with pytest.raises(ConfigError, match=r"\[spark-native\]"):
        KafkaJob(Topic("nowhere:9092", "shop"), str(lake), native=True)._apply()
