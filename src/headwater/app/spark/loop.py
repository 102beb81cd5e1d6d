"""Spark as a consumer of a pipeline: a session, a stream, and the ways to end of every loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from headwater.app.config import Config, SparkSettings
from headwater.app.options import source_options
from headwater.app.registry import open_source
from headwater.app.source_tables import source_tables
from headwater.app.tables import choose_tables, require_names
from headwater.contract import Clock, Metrics
from headwater.errors import ConfigError, MachineError
from headwater.log import SqliteLog
from headwater.runtime import State
from headwater.runtime.loop import Loop

if TYPE_CHECKING:
    from headwater.app.spark.job import TableJob
    from headwater.spark.keep.keeper import KeepPolicy
    from headwater.spark.modes import Mode
    from headwater.spark.policy import SchemaPolicy
    from headwater.spark.proof.applied import Session

CONSUMER = "spark"
SessionFactory = Callable[[], "AbstractContextManager[Session]"]
_LOOK_S = 1


def session_factory(settings: SparkSettings) -> SessionFactory:
    """How to open the session of these settings; it says what is missing for it."""
    try:
        from headwater.app.spark.session import telling_session
    except ModuleNotFoundError as exc:
        raise MachineError("spark-missing", f"{exc.name} is not installed") from exc
    return lambda: telling_session(settings.table_format, settings.master)


class SparkLoop(Loop):
    """Applies the log to tables. With `catch_up` it waits for drain and then applies once.

    Draining applies everything that is in the log by then; the cursor follows what is applied.
    """

    def __init__(
        self, job: TableJob, open_session: SessionFactory, *, clock: Clock, catch_up: bool
    ) -> None:
        super().__init__(CONSUMER, clock)
        self._job = job
        self._open_session = open_session
        self._catch_up = catch_up

    def _work(self) -> None:
        with self._open_session() as session:
            if self._stopping.is_set():
                return
            self.lifecycle.to(State.STREAMING)
            if self._catch_up:
                self._wait_for_the_end()
                if self._stopping.is_set():
                    return
                self.lifecycle.to(State.DRAINING)
                self._job.run_once(session)
            else:
                self._follow(session)

    def tables(self) -> dict[str, dict[str, Any]]:
        """How each table fares, by its name and mode."""
        return self._job.status()

    def measure(self) -> None:
        """Tell the metrics how far every table is behind by now."""
        self._job.measure()

    def _wait_for_the_end(self) -> None:
        while not self._ending:
            self._pause(_LOOK_S)

    def _follow(self, session: Session) -> None:
        stream = self._job.start(session)
        try:
            while not self._ending and not stream.wait(_LOOK_S):
                pass
            if self._stopping.is_set():
                return
            self.lifecycle.to(State.DRAINING)
            stream.drain()
            self._acknowledge(stream.sequence)
        finally:
            stream.stop()

    def _acknowledge(self, sequence: int) -> None:
        """Spark commits a batch when it plans the next one, and no next one will come (INV-1)."""
        cursor = SqliteLog(self._job.log_path).cursor(CONSUMER, required=True)
        try:
            if sequence > cursor.acked:
                cursor.ack(sequence)
        finally:
            cursor.close()


def spark_loop(
    config: Config,
    clock: Clock,
    metrics: Metrics,
    open_session: SessionFactory | None,
    *,
    once: bool,
) -> SparkLoop:
    """The loop of a configuration that has a spark section."""
    settings = config.spark
    if settings is None:
        raise ValueError("the configuration has no spark section")
    opened = open_session or session_factory(settings)
    interval = None if once or settings.trigger == "available_now" else settings.trigger.seconds
    job = table_job(config, settings, metrics, interval_s=interval)
    return SparkLoop(job, opened, clock=clock, catch_up=interval is None)


def table_job(
    config: Config,
    settings: SparkSettings,
    metrics: Metrics | None = None,
    *,
    interval_s: float | None = None,
) -> TableJob:
    """What the configuration asks of Spark."""
    from headwater.app.spark.job import TableJob
    from headwater.app.spark.meter import SparkMeter
    from headwater.spark.apply.report import Reports
    from headwater.spark.table.parquet import SnapshotPolicy

    return TableJob(
        log_path=config.log.path,
        target=settings.target,
        table_format=settings.table_format,
        consumer=CONSUMER,
        tables=_tables(config, settings),
        interval_s=interval_s,
        mode=settings.mode,
        modes=_modes(config, settings),
        preserve_transactions=settings.preserve_transactions,
        on_table_error=settings.on_table_error,
        tables_at_once=settings.tables_at_once,
        partitions=settings.partitions,
        maintenance=_maintenance(settings),
        schema_policy=_schema_policy(config, settings),
        table_policy=settings.as_table_policy(),
        reports=Reports() if metrics is None else Reports(SparkMeter(metrics)),
        snapshots=SnapshotPolicy(settings.snapshots.every, settings.snapshots.keep_changes),
    )


def _maintenance(settings: SparkSettings) -> KeepPolicy:
    from headwater.spark.keep.keeper import KeepPolicy

    chosen = settings.maintenance
    return KeepPolicy(
        compact=chosen.compact,
        target_bytes=chosen.target_file_size.bytes,
        surplus=chosen.surplus_files,
        retain_s=None if chosen.retain is None else int(chosen.retain.seconds),
    )


def _modes(config: Config, settings: SparkSettings) -> dict[Mode, tuple[str, ...]]:
    """Globs by mode; a name that is no table would keep nothing, and nobody would know."""
    named = settings.modes.by_mode()
    known = source_tables(config) if named else ()
    for mode, globs in named.items():
        require_names(globs, known, f"spark.modes.{mode}")
    return named


def _schema_policy(config: Config, settings: SparkSettings) -> SchemaPolicy:
    """The policy; values that no source will read again are not asked for."""
    policy = settings.columns.as_policy()
    if policy.mistyped_as_null:
        where = "spark.schema.mistyped_as_null"
        require_names(policy.mistyped_as_null, source_tables(config), where)
    if policy.on_add == "backfill":
        source = open_source(config.source.url, source_options(config))
        if not source.capabilities.backfill:
            raise ConfigError(
                "backfill-unsupported",
                f"{config.source.url.scheme} cannot read rows beside its stream",
                where="spark.schema.on_add_column",
            )
    return policy


def _tables(config: Config, settings: SparkSettings) -> tuple[str, ...]:
    """Names of the tables to apply; none means all, those that come later too."""
    if settings.tables == ("*",):
        return ()
    chosen = choose_tables(settings.tables, (), source_tables(config), "spark.tables")
    return tuple(map(str, chosen))
