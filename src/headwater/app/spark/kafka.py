"""Kafka in and out of Spark: events to a topic, and tables from one, with Spark's own connector.

    write_kafka(events, Topic("broker:9092", "crm"), log="crm.hwlog", checkpoint="/data/out")
    events = read_kafka(spark, Topic("broker:9092", "crm"))
    KafkaJob(Topic("broker:9092", "crm"), target="s3://lake/crm").run_once(spark)

The session needs the connector: `spark_session(kafka=True)`, or `kafka_conf()` in one of your own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from headwater.app.format_recipe import FormatRecipe
from headwater.app.registry import open_log
from headwater.app.spark.native import native_schema
from headwater.app.spark.session import cores_of
from headwater.app.spark.targets import location_of
from headwater.contract import Format
from headwater.errors import ConfigError, TransientError
from headwater.format.carried import COLUMNS, CarriedFormat
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.records import Records, Shapes
from headwater.spark.apply.report import Reports
from headwater.spark.apply.same_topic import SameTopic
from headwater.spark.apply.tables import Apply, Tables
from headwater.spark.classic import require_classic
from headwater.spark.functions import formats
from headwater.spark.functions.native import decode_avro
from headwater.spark.gateway.kafka import topic_id
from headwater.spark.keep.keeper import Keeper, KeepPolicy
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import SchemaPolicy, TablePolicy
from headwater.spark.query import keeping_errors
from headwater.spark.source.tasks import Tasks
from headwater.spark.table.delta import DeltaTargets

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
    return formats.encode(events.coalesce(1), _told_early(recipe))


def kafka_events(
    records: DataFrame, name: str = "headwater-json", *, native: bool = False
) -> DataFrame:
    """The events of a topic's records, as `format("headwater")` reads them from the log.

    - `native`: read `headwater-avro` by Spark's own `from_avro`, as `headwater.app.spark.decode`
      does.
    """
    if native:
        return decode_avro(records, native_schema(name), COLUMNS)
    return formats.decode(records, _told_early(FormatRecipe(name)))


def _told_early(recipe: FormatRecipe) -> CarriedRecipe:
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
        records = _records(session.readStream, topic).load()
    else:
        records = _records(session.read, topic).load()
    return kafka_events(records, topic.format, native=native)


def _records(reader: _Reader, topic: Topic) -> _Reader:
    """Spark's own source, told what every reader of a topic tells it."""
    reader = reader.format("kafka").options(**topic.settings()).option("subscribe", topic.name)
    return reader.option("includeHeaders", "true").option("startingOffsets", "earliest")


def _halts_on_loss(topic: Topic) -> bool:
    """Whether the connector is to stop where records are missing, as it does unless told."""
    options = {name.lower(): value.lower() for name, value in topic.options.items()}
    return options.get("failondataloss") != "false"


def _is_split(topic: Topic) -> bool:
    """Whether the user has said how many tasks are to read the topic's one partition."""
    said = {name.lower() for name in topic.options}
    return not said.isdisjoint(("minpartitions", "maxrecordsperpartition"))


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


@dataclass(frozen=True, slots=True)
class KafkaJob:
    """Keep Delta tables below `target` from a topic that `write_kafka` writes.

    The session needs nothing but the topic: shapes of tables come with the records, and are kept
    beside the tables. `interval_s` None catches up once and ends. `native` reads records of
    `headwater-avro` by Spark's own `from_avro`; the session needs its jar. With `on_gap="accept"` a
    topic may begin after the first event of its log, as one of some tables does. The rest is as for
    `TableJob`; a table that fails ends the stream, which has no log to find its place in again.
    """

    topic: Topic
    target: str
    interval_s: float | None = None
    max_records: int = 200_000
    mode: Mode = "mirror"
    modes: Mapping[Mode, Sequence[str]] = field(default_factory=dict)
    native: bool = False
    schema_policy: SchemaPolicy = field(default_factory=SchemaPolicy)
    table_policy: TablePolicy = field(default_factory=TablePolicy)
    tables_at_once: int = 4
    maintenance: KeepPolicy | None = field(default_factory=KeepPolicy)
    reports: Reports = field(default_factory=Reports, compare=False)
    on_gap: Literal["halt", "accept"] = "halt"

    def __post_init__(self) -> None:
        """What nobody would do is told here, before a session is started."""
        if self.on_gap not in ("halt", "accept"):
            raise ConfigError("spark-policy", f"on_gap is halt or accept, not {self.on_gap!r}")
        if self.schema_policy.on_add == "backfill":
            raise ConfigError(
                "backfill-unsupported",
                "rows are read again by whoever captures, and a topic does not lead there",
                where="schema_policy",
            )
        if self.table_policy.on_drop != "keep":
            raise ConfigError(
                "spark-policy",
                "that a table was dropped is found in a log, and not in a topic",
                hint='KafkaJob(..., table_policy=TablePolicy(on_drop="keep"))',
            )

    @property
    def location(self) -> str:
        """The target as Spark needs it: a URI as given, a path made absolute."""
        return location_of(self.target)

    def start(self, session: SparkSession) -> StreamingQuery:
        """Start the stream in the session."""
        return self._start(session, [], self.interval_s)

    def run_once(self, session: SparkSession) -> None:
        """Apply everything in the topic now; raises what stopped it, coded."""
        failed: list[BaseException] = []
        query = self._start(session, failed, None)
        try:
            query.awaitTermination()
        except PySparkException as exc:
            raise failed[0] if failed else exc from exc

    def _start(
        self, session: SparkSession, failed: list[BaseException], interval_s: float | None
    ) -> StreamingQuery:
        require_classic(session)
        checkpoint = f"{self.location}/_headwater/checkpoint-kafka"
        apply = self._apply()
        if _halts_on_loss(self.topic):
            settings, name = self.topic.settings(), self.topic.name
            identity = partial(topic_id, settings=settings, name=name)
            apply = SameTopic(apply, identity, checkpoint)
        reader = _records(session.readStream, self.topic)
        reader = reader.option("maxOffsetsPerTrigger", self.max_records)
        if not _is_split(self.topic):
            share = Tasks(cores=cores_of(session)).share(self.max_records)
            reader = reader.option("maxRecordsPerPartition", share)
        writer = reader.load().writeStream.foreachBatch(keeping_errors(apply, failed))
        return _started(writer.option("checkpointLocation", checkpoint), interval_s)

    def _apply(self) -> Apply:
        shapes = Shapes(f"{self.location}/_headwater/shapes")
        name = self.topic.format
        read = partial(kafka_events, name=name, native=self.native)
        # A wrong name is told here, and not by a micro-batch that failed.
        _ = native_schema(name) if self.native else _told_early(FormatRecipe(name))

        def tables(session: SparkSession, log_id: str) -> Tables:
            targets, policy = DeltaTargets(self.location, log_id), self.table_policy
            keep = self.maintenance
            if targets.loading(session):  # a topic does not say which rows are still to come
                raise TransientError(
                    "spark-table-loading",
                    "another stream is loading tables here",
                    where=self.location,
                )
            return Tables(
                targets,
                shapes,
                Modes(self.mode, self.modes, policy.on_no_key),
                Evolution(self.schema_policy),
                policy,
                at_once=self.tables_at_once,
                reports=self.reports,
                keeper=None if keep is None else Keeper(targets, keep, self.reports.watch),
            )

        def reached(session: SparkSession, log_id: str) -> int:
            return DeltaTargets(self.location, log_id).reached(session)

        return Records(read, shapes, tables, reached if self.on_gap == "halt" else None)
