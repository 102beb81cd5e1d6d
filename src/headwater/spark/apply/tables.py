"""A micro-batch to the tables that it concerns, each in the modes that were chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from headwater.contract import TableHistory
from headwater.errors import ConfigError, HeadwaterError
from headwater.failpoint import failpoint
from headwater.spark.apply.loads import Loads
from headwater.spark.apply.sessions import Sessions, shared
from headwater.spark.change.contents import Contents, classified, contents, used
from headwater.spark.change.task import Task
from headwater.spark.mode.append_log import append_log
from headwater.spark.mode.mirror import mirror
from headwater.spark.mode.scd2 import scd2
from headwater.spark.mode.soft_delete import soft_delete
from headwater.spark.modes import Mode, Modes
from headwater.spark.table.target import Standing, Target, Targets

# MERGEs of different tables wait for storage more than for cores.
_TABLES_AT_ONCE = 4
_WAYS: dict[Mode, Callable[[Target, Task, Standing], None]] = {
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


class Tables:
    """Keeps tables of one lake, one per source table and mode.

    Delivery: exactly once per table and batch. A crash between the tables of a batch is safe: each
    table knows its own position and takes only what it lacks.
    """

    def __init__(self, targets: Targets, history: TableHistory, modes: Modes | None = None) -> None:
        self._targets = targets
        self._history = history
        self._modes = modes or Modes()
        self._sessions = Sessions()
        self._loads = Loads(targets, history, _WAYS)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply one micro-batch to every table in it."""
        del batch_id
        failpoint("spark.batch.begin")
        held = used(frame).persist()
        try:
            self._apply_all(held)
        finally:
            held.unpersist()
        failpoint("spark.batch.end")

    def _apply_all(self, frame: DataFrame) -> None:
        batch = contents(frame, self._history)
        with (
            shared(frame, f"headwater_{uuid4().hex}") as name,
            ThreadPoolExecutor(_TABLES_AT_ONCE) as pool,
        ):
            jobs = [
                pool.submit(self._apply, frame, name, Task(frame, changes, batch.until), mode)
                for changes in batch.tables
                for mode in self._modes.of(changes.schema.table)
            ]
        for job in jobs:
            job.result()
        self._finish_loads(frame.sparkSession, batch)

    def _apply(self, frame: DataFrame, name: str, task: Task, mode: Mode) -> None:
        with self._sessions.one(frame.sparkSession) as session:
            table = task.changes.schema.table
            target = self._targets.open(session, table, mode)
            ours = Task(session.table(name), task.changes, task.until)
            _apply(target, ours, mode, self._loads)

    def _finish_loads(self, beside: SparkSession, batch: Contents) -> None:
        """A table that the batch does not mention may have had the last of its rows before."""
        for table, mode in self._loads.over(beside, batch.until):
            with self._sessions.one(beside) as session:
                target = self._targets.open(session, table, mode)
                try:
                    self._loads.finish(target, table, mode, batch.until)
                except HeadwaterError:
                    raise
                except Exception as exc:
                    raise classified(exc, str(table)) from exc


def _apply(table: Target, task: Task, mode: Mode, loads: Loads) -> None:
    changes = task.changes
    if not changes.schema.primary_key and mode != "append_log":
        raise ConfigError(
            "spark-no-key",
            f"table {changes.table} has no primary key, so its rows cannot be told apart",
            where=table.place,
        )
    try:
        standing = loads.take(table, task, mode)
        if standing.applied >= task.until:
            return
        _WAYS[mode](table, task, standing)
        table.note_position(task.until)
    except HeadwaterError:
        raise
    except Exception as exc:
        raise classified(exc, changes.table) from exc
