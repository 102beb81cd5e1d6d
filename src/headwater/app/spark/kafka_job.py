"""A topic to tables, in a few words.

    KafkaJob(Topic("broker:9092", "crm"), target="s3://lake/crm").run_once(spark)

The session needs Spark's connector, as those functions of kafka.py do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from pyspark.sql import DataFrame, SparkSession

from headwater.app.format_recipe import FormatRecipe
from headwater.app.spark.kafka import Topic, kafka_events, told_early, topic_records
from headwater.app.spark.native import native_schema
from headwater.app.spark.session import cores_of
from headwater.app.spark.targets import location_of
from headwater.errors import ConfigError, TransientError
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.records import Records, Shapes
from headwater.spark.apply.report import Reports
from headwater.spark.apply.same_topic import SameTopic
from headwater.spark.apply.tables import Apply, Tables
from headwater.spark.classic import require_classic
from headwater.spark.gateway.kafka import topic_id
from headwater.spark.keep.keeper import Keeper, KeepPolicy
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import SchemaPolicy, TablePolicy
from headwater.spark.progress import BatchReport, record_of
from headwater.spark.query import Pace, RunningStream, follow
from headwater.spark.source.tasks import Tasks
from headwater.spark.table.delta import DeltaTargets
from headwater.spark.table.iceberg import CATALOG_PREFIX, IcebergTargets

_SHARED = ("minpartitions", "maxrecordsperpartition")


@dataclass(frozen=True, slots=True)
class KafkaJob:
    """Keep Delta or Iceberg tables below `target` from a topic that `write_kafka` writes.

    The session needs nothing but the topic: shapes of tables come with the records, and are kept
    beside the tables. `interval_s` None catches up once and ends. `native` reads records of
    `headwater-avro` by Spark's own `from_avro`; the session needs its jar. With `on_gap="accept"` a
    topic may begin after the first event of its log, as one of some tables does. The rest is as for
    `TableJob`; a table that fails ends the stream, which has no log to find its place in again.

    A micro-batch is read by as many tasks as the session has cores, each with some thousands of
    records; the connector's own options in `Topic.options`, such as `minPartitions`, go before.
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
    table_format: Literal["delta", "iceberg"] = "delta"

    def __post_init__(self) -> None:
        """What nobody would do is told here, before a session is started."""
        if self.on_gap not in ("halt", "accept"):
            raise ConfigError("spark-policy", f"on_gap is halt or accept, not {self.on_gap!r}")
        if self.table_format not in ("delta", "iceberg"):
            raise ConfigError(
                "spark-mode", f"a topic keeps delta or iceberg tables, not {self.table_format!r}"
            )
        if self.target.startswith(CATALOG_PREFIX):
            raise ConfigError(
                "spark-mode",
                "what a topic tells of tables is kept in files beside them, and a catalog has no"
                " place for files",
                hint='KafkaJob(..., target="s3a://lake/crm", table_format="iceberg")',
            )
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

    def start(self, session: SparkSession) -> RunningStream:
        """Start the stream in the session."""
        return self._start(session, self.interval_s)

    def run_once(self, session: SparkSession) -> None:
        """Apply everything in the topic now; raises what stopped it, coded."""
        stream = self._start(session, None)
        try:
            stream.wait()
        finally:
            stream.stop()

    def _start(self, session: SparkSession, interval_s: float | None) -> RunningStream:
        require_classic(session)
        checkpoint = f"{self.location}/_headwater/checkpoint-kafka"
        apply = self._apply()
        if _option(self.topic, "failondataloss") != "false":
            settings, name = self.topic.settings(), self.topic.name
            identity = partial(topic_id, settings=settings, name=name)
            apply = SameTopic(apply, identity, checkpoint)
        records, pace = self._records(session), Pace(checkpoint, interval_s)
        return follow(records, apply, pace, self._hear, record_of)

    def _records(self, session: SparkSession) -> DataFrame:
        """Sequence numbers order what is applied, so any task may read any part of a batch."""
        reader = topic_records(session.readStream, self.topic)
        reader = reader.option("maxOffsetsPerTrigger", self.max_records)
        if not any(_option(self.topic, name) for name in _SHARED):
            share = Tasks(cores=cores_of(session)).share(self.max_records)
            reader = reader.option("maxRecordsPerPartition", share)
        return reader.load()

    def _hear(self, report: BatchReport) -> None:
        """Offsets count records; events have numbers of their own, which the tables know."""
        self.reports.batch(replace(report, sequence=self.reports.reached), None)

    def _targets(self, log_id: str) -> DeltaTargets | IcebergTargets:
        if self.table_format == "iceberg":
            return IcebergTargets(self.location, log_id)
        return DeltaTargets(self.location, log_id)

    def _apply(self) -> Apply:
        shapes = Shapes(f"{self.location}/_headwater/shapes")
        name = self.topic.format
        read = partial(kafka_events, name=name, native=self.native)
        # A wrong name is told here, and not by a micro-batch that failed.
        _ = native_schema(name) if self.native else told_early(FormatRecipe(name))

        def tables(session: SparkSession, log_id: str) -> Tables:
            targets, policy = self._targets(log_id), self.table_policy
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
            return self._targets(log_id).reached(session)

        return Records(read, shapes, tables, reached if self.on_gap == "halt" else None)


def _option(topic: Topic, name: str) -> str | None:
    """An option of the connector as it was given, however its name was written."""
    given = {key.lower(): said.lower() for key, said in topic.options.items()}
    return given.get(name)
