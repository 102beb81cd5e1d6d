"""Spark over the embedded log: the data source bound to SqliteLog, and a mirror in a few words.

In a session of your own, `register(spark)` makes `spark.readStream.format("headwater")` work; with
the package installed on the cluster Spark also finds it by itself through `pyspark_headwater`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from headwater.app.format_recipe import FormatRecipe
from headwater.app.spark_native import native_schema
from headwater.app.spark_places import CursorPlaces
from headwater.app.spark_presence import Presence
from headwater.app.spark_source import HeadwaterDataSource
from headwater.errors import ConfigError, HeadwaterError, MachineError
from headwater.log import SqliteLog
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.look import LogLook
from headwater.spark.apply.memory import Memory
from headwater.spark.apply.parking import OnTableError, Parking
from headwater.spark.apply.parquet import AppendLog
from headwater.spark.apply.report import Reports
from headwater.spark.apply.tables import Apply, Tables
from headwater.spark.classic import require_classic
from headwater.spark.functions import formats
from headwater.spark.functions.native import decode_avro
from headwater.spark.keep.keeper import Keeper, KeepPolicy
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import SchemaPolicy
from headwater.spark.query import RunningStream, StreamPlan, start
from headwater.spark.session import end_session, local_session
from headwater.spark.source.datasource import NAME
from headwater.spark.source.typed_read import TypedRead
from headwater.spark.state import as_of as state_as_of
from headwater.spark.state.as_of import AsOf
from headwater.spark.state.publish import Publication
from headwater.spark.state.table import Writer
from headwater.spark.table.delta import DeltaTargets
from headwater.spark.table.delta_files import KnownFiles
from headwater.spark.table.iceberg import CATALOG_PREFIX, IcebergTargets
from headwater.spark.table.parquet import SnapshotPolicy
from headwater.spark.table.upkeep import Upkeeps

TableFormat = Literal["delta", "iceberg", "parquet"]


def register(session: SparkSession) -> None:
    """Make `format("headwater")` known to the session."""
    session.dataSource.register(HeadwaterDataSource)


def encode(
    events: DataFrame,
    name: str,
    *,
    log: Path | str | None = None,
    registry: Mapping[str, str] | None = None,
) -> DataFrame:
    """The records of events as `format("headwater")` reads them: `key`, `value` and `headers`.

    - `name`: a format's name, such as `opencdc`.
    - `log`: the log that knows the tables, for typed rows; every executor must reach it.
    - `registry`: the settings of a schema registry, as in a configuration file.
    """
    return formats.encode(events, _recipe(name, log, registry))


def decode(
    records: DataFrame,
    name: str,
    *,
    log: Path | str | None = None,
    registry: Mapping[str, str] | None = None,
    native: bool = False,
) -> DataFrame:
    """The events of records in a column `value`, with `key` and `headers` where they are there.

    - `native`: read `headwater-avro` by Spark's own `from_avro`: at half the cost in large
      batches, and with fewer checks. The session needs its jar: `spark_session(avro=True)`.
    """
    if native and registry is None:
        return decode_avro(records, native_schema(name))
    if native:
        raise ConfigError("spark-native", "Spark's own functions know no registry")
    return formats.decode(records, _recipe(name, log, registry))


def _recipe(name: str, log: Path | str | None, registry: Mapping[str, str] | None) -> FormatRecipe:
    recipe = FormatRecipe(
        name,
        None if log is None else str(Path(log).resolve()),
        None if registry is None else tuple(registry.items()),
    )
    with recipe.open():  # a wrong name or setting is told here, and not by a task that failed
        return recipe


@dataclass(frozen=True, slots=True)
class TableJob:
    """Apply a log to tables in `target`; `interval_s` None catches up once and ends.

    - `target`: a path or URI; for Iceberg also `catalog:NAME.NAMESPACE`, of the session's catalogs.
    - `modes`: globs of tables by mode, such as `{"scd2": ["orders"]}`; a table may be in several.
    - `mode`: what is kept of a table that `modes` does not name.
    - `schema_policy`: what tables do when the source changes its columns: `SchemaPolicy("halt")`.
    - `on_table_error`: `park` lets the other tables go on, `halt` ends the stream.
    - `tables_at_once`: how many tables are written at the same time.
    - `maintenance`: when files are compacted and removed; None leaves them alone.
    - `reports`: how each table fares, while the job runs.
    - `preserve_transactions`: publish only sets of tables that all stand at one position; see
      `as_of`.
    - `snapshots`: how often Parquet tables get their rows written out: `SnapshotPolicy(every=20)`.
    """

    log_path: Path | str
    target: str
    table_format: TableFormat = "delta"
    consumer: str = "spark"
    tables: tuple[str, ...] = ()
    interval_s: float | None = None
    max_events: int | None = 500_000
    mode: Mode = "mirror"
    modes: Mapping[Mode, Sequence[str]] = field(default_factory=dict)
    schema_policy: SchemaPolicy = field(default_factory=SchemaPolicy)
    on_table_error: OnTableError = "park"
    tables_at_once: int = 4
    maintenance: KeepPolicy | None = field(default_factory=KeepPolicy)
    reports: Reports = field(default_factory=Reports, compare=False)
    preserve_transactions: bool = True
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """A mode that cannot be kept is told here, before a session is started."""
        if self.kept() != Modes() and self.table_format == "parquet":
            raise ConfigError(
                "spark-mode",
                "parquet tables only append changes",
                hint='TableJob(..., table_format="delta")',
            )
        if self.schema_policy != SchemaPolicy() and self.table_format == "parquet":
            raise ConfigError(
                "spark-schema",
                "parquet tables append each change in the shape that it has",
                hint='TableJob(..., table_format="delta")',
            )

    @property
    def checkpoint(self) -> str:
        """Spark's own place, beside the tables; it can be lost, because the tables know theirs.

        A catalog has no folder of ours: then it is beside the log.
        """
        if self._in_catalog:
            return f"{Path(self.log_path).resolve()}-spark/checkpoint-{self.consumer}"
        return f"{self.location}/_headwater/checkpoint-{self.consumer}"

    @property
    def _in_catalog(self) -> bool:
        return self.table_format == "iceberg" and self.target.startswith(CATALOG_PREFIX)

    @property
    def location(self) -> str:
        """The target as Spark needs it: a URI or catalog as given, a path made absolute."""
        return self.target if self._in_catalog else location_of(self.target)

    def start(self, session: SparkSession) -> RunningStream:
        """Start the stream in the session."""
        require_classic(session)
        register(session)
        plan = StreamPlan(
            log_path=str(Path(self.log_path).resolve()),
            checkpoint=self.checkpoint,
            consumer=self.consumer,
            tables=self.tables,
            max_events=self.max_events,
            interval_s=self.interval_s,
        )
        presence = Presence(Path(self.log_path).resolve(), self.consumer)
        presence.hold()
        try:
            stream = start(session, plan, self._apply(), self.reports.batch)
        except BaseException:
            presence.release()
            raise
        stream.at_end(presence.release)
        return stream

    def kept(self) -> Modes:
        """Which tables are kept in which modes."""
        return Modes(self.mode, self.modes)

    def _apply(self) -> Apply:
        reader = SqliteLog(self.log_path).reader()
        known = self._memory.files
        targets = targets_of(self.table_format, self.location, reader.log_id, known)
        if targets is None:
            return AppendLog(self.location, reader, reader.log_id, self.snapshots)
        return Tables(
            targets,
            reader,
            self.kept(),
            Evolution(self.schema_policy, SqliteLog(self.log_path).commands),
            at_once=self.tables_at_once,
            parking=Parking(
                CursorPlaces(self.log_path, self.consumer, self.tables), self.on_table_error
            ),
            reread=self._reread,
            reports=self.reports,
            keeper=self._keeper(targets),
            publication=self._publication(reader.log_id),
            look=LogLook(reader, self.checkpoint, self.tables, SqliteLog(self.log_path).reader),
            ask=self._ask,
        )

    def _publication(self, log_id: str) -> Publication | None:
        """Sets of versions are kept in a Delta table, of Delta tables."""
        if self.table_format != "delta":
            return None
        return self._memory.publication(
            self.location, Writer(log_id, self.consumer), whole_only=self.preserve_transactions
        )

    def _keeper(self, tables: Upkeeps) -> Keeper | None:
        policy = self.maintenance
        return None if policy is None else Keeper(tables, policy, self.reports.watch)

    def _reread(self, frame: DataFrame, after: int, until: int) -> DataFrame:
        """Events that the stream has passed, for a table that has not taken them."""
        return self._load(frame.sparkSession.read.format(NAME), (after, until))

    def _ask(
        self, session: SparkSession, asked: TypedRead, columns: str, between: tuple[int, int]
    ) -> DataFrame:
        """Rows of a range of the log as the source makes them."""
        register(session)
        reader = session.read.format(NAME).schema(columns).option("typedRead", asked.text())
        return self._load(reader, between)

    def _load(self, reader: DataFrameReader, between: tuple[int, int]) -> DataFrame:
        """A range (after, until] of the log."""
        after, until = between
        reader = reader.option("startingSequence", after).option("endingSequence", until)
        return reader.load(str(Path(self.log_path).resolve()))

    def run_once(self, session: SparkSession) -> int:
        """Apply everything in the log now and move the cursor; returns the sequence reached.

        Spark commits a batch only when it plans the next one, so the last batch's commit never
        comes. The query has ended well and its tables are written: the cursor may follow. A table
        that was parked is told of by its error, when the others have gone on.
        """
        stream = self.start(session)
        try:
            stream.wait()
        finally:
            stream.stop()
        cursor = SqliteLog(self.log_path).cursor(self.consumer, required=True)
        try:
            if stream.sequence > cursor.acked:
                cursor.ack(stream.sequence)
            acked = cursor.acked
        finally:
            cursor.close()
        failed = self.reports.failure()
        if failed is not None:
            raise failed
        return acked


def targets_of(
    table_format: TableFormat, location: str, log_id: str, known: KnownFiles | None = None
) -> DeltaTargets | IcebergTargets | None:
    """The tables of a format; None for Parquet, which has folders of changes and no tables."""
    match table_format:
        case "delta":
            return DeltaTargets(location, log_id, known or KnownFiles())
        case "iceberg":
            return IcebergTargets(location, log_id)
        case "parquet":
            return None


def location_of(target: str) -> str:
    """A target as Spark needs it: a URI as given, a path made absolute."""
    place = target.rstrip("/")
    return place if "://" in place else str(Path(place).resolve())


def as_of(
    spark: SparkSession,
    target: Path | str,
    sequence: int | None = None,
    *,
    consumer: str = "spark",
    log_id: str | None = None,
) -> AsOf:
    """Every Delta table below `target` at the newest published position up to `sequence`.

    - `sequence`: an event of the log; None is the newest published position.
    - `consumer`: of the job that keeps the tables.
    - `log_id`: whose numbers they are, if several logs wrote there; else the one that wrote last.
    """
    require_classic(spark)
    return state_as_of.as_of(
        spark, location_of(str(target)), sequence, consumer=consumer, log_id=log_id
    )


@contextmanager
def spark_session(
    table_format: TableFormat = "delta",
    master: str = "local[2]",
    *,
    kafka: bool = False,
    avro: bool = False,
) -> Iterator[SparkSession]:
    """A quiet local session that ends with the block.

    `kafka` adds Spark's connector for Kafka, `avro` its functions on Avro.
    """
    if not master.startswith("local"):
        raise ConfigError(
            "spark-master",
            f"this process starts only local sessions, not {master}",
            hint="submit the job with spark-submit and call TableJob(...).start(spark)",
        )
    cores = master.removeprefix("local").strip("[]") or "1"
    try:
        session = local_session(
            formats=() if table_format == "parquet" else (table_format,),
            kafka=kafka,
            avro=avro,
            cores=2 if cores == "*" else int(cores),
        )
    except HeadwaterError:
        raise
    except Exception as exc:
        raise MachineError("spark-start", f"Spark's JVM did not start: {exc}") from exc
    try:
        register(session)
        yield session
    finally:
        end_session(session)
