"""Formats as functions on DataFrames: the same records and the same events as without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater import formats
from headwater.app.format_recipe import FormatRecipe
from headwater.app.spark import decode, encode
from headwater.contract import MessageFormat
from headwater.errors import ConfigError, DataError
from headwater.event import EventBatch, Operation, Snapshot, Transaction
from headwater.log import SqliteLog
from headwater.spark.functions.formats import decode_batches, encode_batches
from headwater.spark.source.frame import from_spark, to_spark
from headwater.testing.builders import IDENTITY, ITEMS, inserts, source_batch
from headwater.testing.conformance.format import envelope
from tests.fix_registry import PASSWORD, USER, Door
from tests.unit.format.typed_tables import batch, change

pytestmark = pytest.mark.spark


@pytest.fixture
def log(tmp_path: Path) -> SqliteLog:
    """Twenty inserts, and a delete: some formats follow it with a tombstone."""
    log = SqliteLog.create(tmp_path / "events.hwlog")
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 20, tx_id=1), 1))
    deleted = change(
        op=Operation.DELETE,
        before={"id": 1, "name": "one"},
        table="items",
        schema=None,
        schema_id=ITEMS.schema_id,
    )
    writer.append(source_batch(batch(deleted), 2))
    writer.close()
    return log


def _collected(frame: DataFrame) -> EventBatch:
    return from_spark(frame.toArrow().combine_chunks().to_batches()[0])


def _stored(log: SqliteLog) -> EventBatch:
    return EventBatch.concat(list(log.reader().read(0)))


@pytest.mark.parametrize("name", formats.names())
def test_batches_of_an_executor_hold_what_the_format_gives_without_spark(
    name: str, log: SqliteLog
) -> None:
    stored, recipe = _stored(log), FormatRecipe(name, str(log.path))
    form = formats.get(name, schemas=log.reader())
    halves = [to_spark(stored.slice(0, 9)), to_spark(stored.slice(9))]
    lists = list(encode_batches(recipe, (half.to_struct_array() for half in halves)))
    records = [record for each in lists for record in each.flatten().to_pylist()]
    values = [record["value"] for record in records]
    if isinstance(form, MessageFormat):
        messages = form.messages(stored)
        assert values == [message.value for message in messages]
        assert [record["key"] for record in records] == [message.key for message in messages]
        assert [
            tuple((pair["key"], pair["value"]) for pair in record["headers"] or ())
            for record in records
        ] == [message.headers for message in messages]
    else:
        assert values == list(form.encode(stored))
    back = [each.flatten() for each in decode_batches(recipe, (each.flatten() for each in lists))]
    found = [from_spark(pa.RecordBatch.from_struct_array(each)) for each in back]
    assert envelope(EventBatch.concat(found)) == envelope(stored)


def test_frame_of_events_becomes_records_and_events_again(
    spark: SparkSession, log: SqliteLog
) -> None:
    stored = _stored(log)
    events = spark.read.format("headwater").option("partitions", "1").load(str(log.path))
    records = encode(events, "debezium")
    back = decode(records, "debezium")
    values = [row["value"] for row in records.select("value").collect()]
    assert len(values) == len(stored) + 1
    assert values[-1] is None  # the tombstone after the delete
    assert envelope(_collected(back)) == envelope(stored)


@pytest.mark.parametrize("name", ["debezium", "headwater-avro-typed"])
def test_read_gives_records_when_it_names_a_format(
    spark: SparkSession, log: SqliteLog, name: str
) -> None:
    """The second of them needs the log for the shapes of tables."""
    events = spark.read.format("headwater").load(str(log.path))
    wanted = encode(events, name, log=log.path)
    read = spark.read.format("headwater").option("encodeAs", name).load(str(log.path))
    assert read.schema == wanted.schema
    assert sorted(map(str, read.collect())) == sorted(map(str, wanted.collect()))
    stream = spark.readStream.format("headwater").option("encodeAs", name).load(str(log.path))
    memory = stream.writeStream.format("memory").queryName("encoded")
    memory.trigger(availableNow=True).start().awaitTermination()
    assert sorted(map(str, spark.table("encoded").collect())) == sorted(map(str, wanted.collect()))


def test_stream_of_values_is_decoded_when_they_name_a_registered_schema(
    spark: SparkSession,
    log: SqliteLog,
    guarded_registry: Door,
    topic: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", PASSWORD)
    spark.sparkContext.environment["REGISTRY_PASSWORD"] = PASSWORD
    registry = {"url": guarded_registry.url, "user": USER, "password": "${REGISTRY_PASSWORD}"}
    registry |= {"topic": topic}
    stream = spark.readStream.format("headwater").option("startingSequence", "earliest")
    values = encode(
        stream.load(str(log.path)), "headwater-avro-typed", log=log.path, registry=registry
    ).select("value")
    back = decode(values, "headwater-avro-typed", registry=registry)
    query = (
        back.writeStream.format("memory").queryName("decoded").trigger(availableNow=True).start()
    )
    query.awaitTermination()
    found = _collected(spark.table("decoded"))
    assert sorted(map(str, envelope(found))) == sorted(map(str, envelope(_stored(log))))


def test_wrong_name_or_setting_is_told_before_anything_runs(
    spark: SparkSession, log: SqliteLog
) -> None:
    events = spark.read.format("headwater").load(str(log.path))
    with pytest.raises(ConfigError, match="no format 'opencd'"):
        encode(events, "opencd")
    with pytest.raises(PySparkException, match=r"format-unknown.*no format 'opencd'"):
        spark.read.format("headwater").option("encodeAs", "opencd").load(str(log.path))
    with pytest.raises(ConfigError, match="secret is not written"):
        encode(
            events, "headwater-avro", registry={"url": "http://x", "user": "a", "password": "open"}
        )


def test_rows_of_spark_are_the_batch_that_they_were_made_of() -> None:
    events = batch(
        change({"id": 1}, op=Operation.READ, snapshot=Snapshot("s", 3, True), sequence_number=7),
        change(
            {"id": 1},
            op=Operation.UPDATE,
            before={"id": 0},
            before_is_key_only=True,
            unavailable_columns=("a",),
            before_unavailable_columns=("b",),
            transaction=Transaction(7, None, 2),
            context={"user": "eve"},
            extra={"opencdc": {"+": {"a": 1}}},
            schema_id=9,
        ),
        change(op=Operation.TRUNCATE, primary_key=None),
        change({"prefix": "p", "content": ""}, op=Operation.MESSAGE, schema=None, table=""),
    )
    numbered = EventBatch.concat([inserts(1, 2), events])
    assert from_spark(to_spark(numbered)).equals(numbered)
    odd = to_spark(numbered).set_column(
        2, "op", pa.array(["insert", None, "upsert", "?", "x", "m"])
    )
    with pytest.raises(DataError, match="is no operation"):
        from_spark(odd)
