"""A micro-batch to the tables that it concerns, each in the modes that were chosen for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

from pyspark.sql import DataFrame

from headwater.contract import SchemaHistory
from headwater.errors import ConfigError, HeadwaterError
from headwater.failpoint import failpoint
from headwater.spark.apply.sessions import Sessions, shared
from headwater.spark.change.contents import classified, contents
from headwater.spark.change.task import Task
from headwater.spark.mode.append_log import append_log
from headwater.spark.mode.mirror import mirror
from headwater.spark.mode.scd2 import scd2
from headwater.spark.mode.soft_delete import soft_delete
from headwater.spark.modes import Mode, Modes
from headwater.spark.state.entry import Reached
from headwater.spark.state.positions import tables_there
from headwater.spark.state.publish import Finished, Publication
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


@dataclass(frozen=True, slots=True)
class Tables:
    """Keeps tables of one lake, one per source table and mode.

    Delivery: exactly once per table and batch. A crash between the tables of a batch is safe: each
    table knows its own position and takes only what it lacks. When all have taken it, `publication`
    makes their versions known as a set.
    """

    targets: Targets
    history: SchemaHistory
    modes: Modes = field(default_factory=Modes)
    publication: Publication | None = None
    _sessions: Sessions = field(default_factory=Sessions)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply one micro-batch to every table in it."""
        failpoint("spark.batch.begin")
        frame.persist()
        try:
            self._apply_all(frame, batch_id)
        finally:
            frame.unpersist()
        failpoint("spark.batch.end")

    def _apply_all(self, frame: DataFrame, batch_id: int) -> None:
        session = frame.sparkSession
        batch = contents(frame, self.history)
        until = batch.until
        if self.publication is not None:
            until = max(until, self.publication.end_of(session, batch_id))
        with (
            shared(frame, f"headwater_{uuid4().hex}") as name,
            ThreadPoolExecutor(_TABLES_AT_ONCE) as pool,
        ):
            jobs = [
                pool.submit(self._apply, frame, name, Task(frame, changes, until), mode)
                for changes in batch.tables
                for mode in self.modes.of(changes.schema.table)
            ]
        reached = [job.result() for job in jobs]
        if self.publication is not None:
            self.publication(
                session,
                Finished(until, batch.committed_at_us, reached),
                lambda: tables_there(session, self.targets, self.history, self.modes),
            )

    def _apply(self, frame: DataFrame, name: str, task: Task, mode: Mode) -> Reached:
        with self._sessions.one(frame.sparkSession) as session:
            target = self.targets.open(session, task.changes.schema.table, mode)
            standing = _apply(target, Task(session.table(name), task.changes, task.until), mode)
            version = -1 if standing.version is None else standing.version
            return Reached(task.changes.schema.table, mode, target.place, version, standing.applied)


def _apply(table: Target, task: Task, mode: Mode) -> Standing:
    """Bring the table to the end of the batch; returns what it is then."""
    changes = task.changes
    if not changes.schema.primary_key and mode != "append_log":
        raise ConfigError(
            "spark-no-key",
            f"table {changes.table} has no primary key, so its rows cannot be told apart",
            where=table.place,
        )
    standing = table.standing()
    if standing.applied >= task.until:
        return standing
    try:
        _WAYS[mode](table, task, standing)
        table.note_position(task.until)
        return table.standing()
    except HeadwaterError:
        raise
    except Exception as exc:
        raise classified(exc, changes.table) from exc
