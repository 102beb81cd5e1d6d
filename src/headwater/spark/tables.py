"""A micro-batch to the tables that it concerns, each in the modes that were chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from headwater.contract import SchemaHistory
from headwater.errors import ConfigError, HeadwaterError
from headwater.failpoint import failpoint
from headwater.spark.append_log import append_log
from headwater.spark.batch import classified, contents
from headwater.spark.delta import DeltaTarget, Standing
from headwater.spark.mirror import mirror
from headwater.spark.modes import Mode, Modes
from headwater.spark.scd2 import scd2
from headwater.spark.soft_delete import soft_delete
from headwater.spark.target import table_path
from headwater.spark.task import Task

# MERGEs of different tables wait for storage more than for cores.
_TABLES_AT_ONCE = 4
_WAYS: dict[Mode, Callable[[DeltaTarget, Task, Standing], None]] = {
    "mirror": mirror,
    "soft_delete": soft_delete,
    "scd2": scd2,
    "append_log": append_log,
}


class Apply(Protocol):
    """What a stream does with each micro-batch."""

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply the batch; called again with the same batch after a crash."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """Keeps Delta tables below a target, one per source table and mode.

    Delivery: exactly once per table and batch. A crash between the tables of a batch is safe: each
    table knows its own position and takes only what it lacks.
    """

    target: str
    history: SchemaHistory
    log_id: str
    modes: Modes = field(default_factory=Modes)

    @property
    def app_id(self) -> str:
        """The name under which Delta keeps our position: the log's, so checkpoints may be lost."""
        return f"headwater:{self.log_id}"

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply one micro-batch to every table in it."""
        del batch_id
        failpoint("spark.batch.begin")
        frame.persist()
        try:
            batch = contents(frame, self.history)
            tasks = [Task(frame, changes, batch.until) for changes in batch.tables]
            with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
                jobs = [
                    pool.submit(self._apply, frame.sparkSession, task, mode)
                    for task in tasks
                    for mode in self.modes.of(task.changes.schema.table)
                ]
            for job in jobs:
                job.result()
        finally:
            frame.unpersist()
        failpoint("spark.batch.end")

    def _apply(self, session: SparkSession, task: Task, mode: Mode) -> None:
        changes = task.changes
        path = table_path(self.target, changes.schema.table, mode)
        if not changes.schema.primary_key and mode != "append_log":
            raise ConfigError(
                "spark-no-key",
                f"table {changes.table} has no primary key, so its rows cannot be told apart",
                where=path,
            )
        table = DeltaTarget(session, path, self.app_id)
        standing = table.standing()
        if standing.applied >= task.until:
            return
        try:
            _WAYS[mode](table, task, standing)
            table.note_position(task.until)
        except HeadwaterError:
            raise
        except Exception as exc:
            raise classified(exc, changes.table) from exc
