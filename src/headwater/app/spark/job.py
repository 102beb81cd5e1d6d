"""A log to tables, in a few words."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, DataFrameReader, SparkSession

from headwater.app.spark.last import LastReports
from headwater.app.spark.places import CursorPlaces
from headwater.app.spark.presence import Presence
from headwater.app.spark.session import register
from headwater.app.spark.targets import TableFormat, location_of, targets_of
from headwater.app.target_name import target_name
from headwater.contract import LogReader
from headwater.errors import ConfigError
from headwater.log import SqliteLog
from headwater.observe import SystemClock
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.look import LogLook
from headwater.spark.apply.memory import Memory
from headwater.spark.apply.parking import OnTableError, Parking
from headwater.spark.apply.parquet import AppendLog
from headwater.spark.apply.report import Behind, Reports
from headwater.spark.apply.tables import Apply, Tables
from headwater.spark.checkpoint.folder import CheckpointFolder
from headwater.spark.classic import require_classic
from headwater.spark.keep.keeper import Keeper, KeepPolicy
from headwater.spark.modes import Mode, Modes
from headwater.spark.policy import SchemaPolicy, TablePolicy
from headwater.spark.progress import BatchReport
from headwater.spark.query import RunningStream, StreamPlan, start
from headwater.spark.source.datasource import NAME
from headwater.spark.source.limits import SPARK_LIMITS
from headwater.spark.source.typed_read import TypedRead
from headwater.spark.state.publish import Publication
from headwater.spark.state.store import store_of
from headwater.spark.state.table import Writer
from headwater.spark.table.iceberg import CATALOG_PREFIX
from headwater.spark.table.parquet import SnapshotPolicy
from headwater.spark.table.upkeep import Upkeeps

_LOG = logging.getLogger("headwater.spark")


@dataclass(frozen=True, slots=True)
class TableJob:
    """Apply a log to tables in `target`; `interval_s` None catches up once and ends.

    - `target`: a path or URI; for Iceberg also `catalog:NAME.NAMESPACE`, of the session's catalogs.
    - `modes`: globs of tables by mode, such as `{"scd2": ["orders"]}`; a table may be in several.
    - `mode`: what is kept of a table that `modes` does not name.
    - `schema_policy`: what tables do when the source changes its columns: `SchemaPolicy("halt")`.
    - `table_policy`: what they do when it empties or drops them: `TablePolicy(on_drop="empty")`.
    - `on_table_error`: `park` lets the other tables go on, `halt` ends the stream.
    - `tables_at_once`: how many tables are written at the same time.
    - `maintenance`: when files are compacted and removed; None leaves them alone.
    - `reports`: how each table fares, while the job runs.
    - `preserve_transactions`: publish only sets of tables that all stand at one position; see
      `as_of`.
    - `snapshots`: how often Parquet tables get their rows written out: `SnapshotPolicy(every=20)`.
    - `partitions`: the tasks of each read of the log; None is one per core, if it is worth them.
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
    table_policy: TablePolicy = field(default_factory=TablePolicy)
    on_table_error: OnTableError = "park"
    tables_at_once: int = 4
    maintenance: KeepPolicy | None = field(default_factory=KeepPolicy)
    reports: Reports = field(default_factory=Reports, compare=False)
    preserve_transactions: bool = True
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    partitions: int | None = None
    _memory: Memory = field(default_factory=Memory, init=False, repr=False, compare=False)
    _last: LastReports = field(default_factory=LastReports, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """A mode that cannot be kept is told here, before a session is started."""
        if self.kept() != Modes(tables=self.tables) and self.table_format == "parquet":
            raise ConfigError(
                "spark-mode",
                "parquet tables only append changes",
                hint='TableJob(..., table_format="delta")',
            )
        if self.table_policy != TablePolicy() and self.table_format == "parquet":
            raise ConfigError(
                "spark-policy",
                "parquet tables append each change, truncates too, and need no key",
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
        return self._start(session, self.interval_s)

    def _start(self, session: SparkSession, interval_s: float | None) -> RunningStream:
        require_classic(session)
        register(session)
        self._begin_anew(session)
        plan = StreamPlan(
            log_path=str(Path(self.log_path).resolve()),
            checkpoint=self.checkpoint,
            consumer=self.consumer,
            tables=self.tables,
            max_events=self.max_events,
            partitions=self.partitions,
            interval_s=interval_s,
            attempt=self._attempt(),
        )
        presence = Presence(Path(self.log_path).resolve(), self.consumer)
        presence.hold()
        try:
            stream = start(session, plan, self._apply(), self._hear)
        except BaseException:
            presence.release()
            raise
        stream.at_end(presence.release)
        stream.at_end(lambda: self._keep_reports(at_end=True))
        return stream

    def _begin_anew(self, session: SparkSession) -> None:
        """Where nothing was written yet, begin with the log: the cursor tells of another target.

        It costs nothing if the tables are there after all: each skips what it has. What the log no
        longer holds is told of table by table.
        """
        log = SqliteLog(self.log_path)
        acked = {place.name: place.acked for place in log.places()}.get(self.consumer)
        if acked is None or CheckpointFolder(session, self.checkpoint).is_there():
            return
        kind = self.table_format
        if kind != "parquet" and store_of(kind, session, self.location).version() >= 0:
            return
        self._places().clear()
        log.forget_taken(self._target_name)
        begin = log.info().bounds.tail - 1
        if begin < acked:
            _LOG.warning("the target is new: all of the log is read", extra={"after": begin})
            log.rewind(self.consumer, begin)

    def _attempt(self) -> str:
        """The stream has a batch, on a quiet log too, if it has tables to bring after it.

        Those are parked, or it may keep others than its last run did.
        """
        if self._places().parked():
            return uuid4().hex
        kept = (self.kept(), self.table_format, self.location)
        return sha256(repr(kept).encode()).hexdigest()[:16]

    def status(self) -> dict[str, dict[str, Any]]:
        """How each table that it has written fares, by name and mode: place, lag, rate, parked."""
        with self._behind() as behind:
            return self.reports.as_dict(behind)

    def measure(self) -> None:
        """Tell the watch of `reports` how far every table is behind by now."""
        with self._behind() as behind:
            self.reports.measure(behind)

    def _hear(self, report: BatchReport) -> None:
        with self._behind() as behind:
            self.reports.batch(report, behind)
        self._keep_reports()

    def _keep_reports(self, *, at_end: bool = False) -> None:
        log = SqliteLog(self.log_path)
        self._last.keep(log, self._target_name, self.reports, at_end=at_end)

    @property
    def _target_name(self) -> str:
        return target_name(self.table_format, self.target)

    @contextmanager
    def _behind(self) -> Iterator[Behind]:
        """By a reader of its own: one reader is of one thread, and Spark has several."""
        with closing(SqliteLog(self.log_path).reader()) as reader:
            yield partial(reader.lag, now_ms=SystemClock().now_ms())

    def kept(self) -> Modes:
        """Which tables are kept in which modes."""
        return Modes(self.mode, self.modes, self.table_policy.on_no_key, tables=self.tables)

    def _apply(self) -> Apply:
        reader = SqliteLog(self.log_path).reader()
        known = self._memory.files
        targets = targets_of(self.table_format, self.location, reader.log_id, known)
        if targets is None:
            return AppendLog(
                self.location,
                reader,
                reader.log_id,
                self.snapshots,
                self.kept(),
                at_once=self.tables_at_once,
                parking=Parking(self._places(), self.on_table_error),
                reread=self._reread,
                reports=self.reports,
                look=self._look(reader),
            )
        return Tables(
            targets,
            reader,
            self.kept(),
            Evolution(self.schema_policy, SqliteLog(self.log_path).commands),
            self.table_policy,
            at_once=self.tables_at_once,
            parking=Parking(self._places(), self.on_table_error),
            reread=self._reread,
            reports=self.reports,
            keeper=self._keeper(targets),
            publication=self._publication(reader.log_id),
            look=self._look(reader),
            ask=self._ask,
        )

    def _places(self) -> CursorPlaces:
        return CursorPlaces(self.log_path, self.consumer, self.tables)

    def _look(self, reader: LogReader) -> LogLook:
        return LogLook(
            reader,
            self.checkpoint,
            self.tables,
            beside=SqliteLog(self.log_path).reader,
            drops=self.table_policy.on_drop != "keep",
        )

    def _publication(self, log_id: str) -> Publication | None:
        """Sets of versions; Parquet has no versions."""
        if self.table_format == "parquet":
            return None
        writer = Writer(log_id, self.consumer)
        return self._memory.publication(
            Publication(
                self.location,
                writer,
                self.preserve_transactions,
                self.table_format,
            )
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
        if self.partitions is not None:
            reader = reader.option("partitions", self.partitions)
        return reader.load(str(Path(self.log_path).resolve()))

    def run_once(self, session: SparkSession) -> int:
        """Apply everything in the log now and move the cursor; returns the sequence reached.

        Spark commits a batch only when it plans the next one, so the last batch's commit never
        comes. The query has ended well and its tables are written: the cursor may follow. A table
        that was parked is told of by its error, when the others have gone on.
        """
        log = SqliteLog(self.log_path)
        head = None if SPARK_LIMITS else log.info().bounds.head
        acked = self._run(session, log)
        # Spark 4.1 has one batch in a run: the one that a killed process has left, if there is one.
        if head is not None and acked < head:
            acked = self._run(session, log)
        failed = self.reports.failure()
        if failed is not None:
            raise failed
        return acked

    def _run(self, session: SparkSession, log: SqliteLog) -> int:
        stream = self._start(session, None)
        try:
            stream.wait()
        finally:
            stream.stop()
        with closing(log.cursor(self.consumer, required=True)) as cursor:
            if stream.sequence > cursor.acked:
                cursor.ack(stream.sequence)
            return cursor.acked
