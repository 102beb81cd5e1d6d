"""Kafka in and out of Spark: events to a topic and back, with Spark's own connector.

    write_kafka(events, Topic("broker:9092", "crm"), log="crm.hwlog", checkpoint="/data/out")
    events = read_kafka(spark, Topic("broker:9092", "crm"))

The session needs the connector: `spark_session(kafka=True)`, or `kafka_conf()` in one of your own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from headwater.app.format_recipe import FormatRecipe
from headwater.app.registry import open_log
from headwater.app.spark.native import native_schema
from headwater.contract import Format
from headwater.format.carried import COLUMNS, CarriedFormat
from headwater.spark.functions import formats
from headwater.spark.functions.native import decode_avro

_Reader = TypeVar("_Reader", DataFrameReader, DataStreamReader)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of one partition. `options` are the connector's, such as `kafka.security.protocol`.

    - `format`: that of the records; one that has a record for each event.
    """

    servers: str
    name: str
    format: str = "headwater-json"
    options: Mapping[str, str] = field(default_factory=dict)

    def settings(self) -> dict[str, str]:
        """What source and sink are both told."""
        return {"kafka.bootstrap.servers": self.servers, **self.options}


@dataclass(frozen=True, slots=True)
class CarriedRecipe:
    """A format with headers, for other processes: to write with a log, to read without."""

    recipe: FormatRecipe

    @contextmanager
    def open(self) -> Iterator[Format]:
        """The format, for as long as the block lasts."""
        with self.recipe.open() as form:
            if self.recipe.log is None:
                yield CarriedFormat(form)
                return
            with closing(open_log(self.recipe.log).reader()) as reader:
                yield CarriedFormat(form, reader.log_id, reader)


def kafka_records(events: DataFrame, log: Path | str, name: str = "headwater-json") -> DataFrame:
    """`key`, `value` and `headers` of events, in their order: by one task, as one order demands.

    The headers carry what the log knows beside the envelope; every executor must reach the log.
    """
    recipe = FormatRecipe(name, str(Path(log).absolute()))
    return formats.encode(events.coalesce(1), told_early(recipe))


def kafka_events(
    records: DataFrame, name: str = "headwater-json", *, native: bool = False
) -> DataFrame:
    """The events of a topic's records, as `format("headwater")` reads them from the log.

    - `native`: read `headwater-avro` by Spark's own `from_avro`, as `headwater.app.spark.decode`
      does.
    """
    if native:
        return decode_avro(records, native_schema(name), COLUMNS)
    return formats.decode(records, told_early(FormatRecipe(name)))


def told_early(recipe: FormatRecipe) -> CarriedRecipe:
    """The recipe, if there is such a format."""
    carried = CarriedRecipe(recipe)
    with carried.open():  # a wrong name is told here, and not by a task that failed
        return carried


def read_kafka(
    session: SparkSession, topic: Topic, *, stream: bool = True, native: bool = False
) -> DataFrame:
    """The events of a topic from its beginning, as a stream, or once what is there.

    They are as `format("headwater")` reads them from the log; one that was written twice comes
    twice. `native` is as for `kafka_events`.
    """
    if stream:
        records = topic_records(session.readStream, topic).load()
    else:
        records = topic_records(session.read, topic).load()
    return kafka_events(records, topic.format, native=native)


def topic_records(reader: _Reader, topic: Topic) -> _Reader:
    """Spark's own source, told what every reader of a topic tells it."""
    reader = reader.format("kafka").options(**topic.settings()).option("subscribe", topic.name)
    return reader.option("includeHeaders", "true").option("startingOffsets", "earliest")


def write_kafka(
    events: DataFrame,
    topic: Topic,
    *,
    log: Path | str,
    checkpoint: str,
    interval_s: float | None = None,
) -> StreamingQuery:
    """Write a stream of events to a topic: once what there is, or for ever.

    Delivery: at least once, in order. `KafkaJob` takes a record that comes twice once.
    """
    writer = kafka_records(events, log, topic.format).writeStream.format("kafka")
    writer = writer.options(**topic.settings()).option("topic", topic.name)
    writer = writer.option("checkpointLocation", checkpoint)
    return _started(writer, interval_s)


def _started(writer: DataStreamWriter, interval_s: float | None) -> StreamingQuery:
    """Once through what there is without an interval, else for ever."""
    if interval_s is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{interval_s} seconds").start()
