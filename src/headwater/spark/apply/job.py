"""One table's part of a micro-batch: what it is asked to take, and the taking."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from headwater.errors import ConfigError, DataError, HeadwaterError
from headwater.event import TableId
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.judge import judged
from headwater.spark.apply.loads import Loads
from headwater.spark.apply.typed_reads import TypedReads
from headwater.spark.change.changes import TableChanges
from headwater.spark.change.contents import classified
from headwater.spark.change.task import Task
from headwater.spark.mode.append_log import append_log
from headwater.spark.mode.mirror import mirror
from headwater.spark.mode.scd2 import scd2
from headwater.spark.mode.soft_delete import soft_delete
from headwater.spark.modes import Mode, name_of
from headwater.spark.policy import TablePolicy
from headwater.spark.table.claim import contended
from headwater.spark.table.target import Standing, Target, Targets

WAYS: dict[Mode, Callable[[Target, Task, Standing], None]] = {
    "mirror": mirror,
    "soft_delete": soft_delete,
    "scd2": scd2,
    "append_log": append_log,
}
# Modes to which it is all one what a key went through.
_LAST_ONLY: set[Mode] = {"mirror"}
_ATTEMPTS = 5
_LOG = logging.getLogger("headwater.spark")


@dataclass(frozen=True, slots=True)
class Job:
    """Changes for one table in one mode; `view` names the events for every session.

    The table was seen at `least` before, and must be there or farther.
    """

    changes: TableChanges
    mode: Mode
    view: str
    until: int
    least: int = 0

    @property
    def key(self) -> tuple[TableId, Mode]:
        """Which table this is about."""
        return self.changes.schema.table, self.mode

    @property
    def name(self) -> str:
        """The table and its mode, as reports and places of parked tables call them."""
        return name_of(*self.key)


class SetBackError(DataError):
    """A table lacks what it had: it was removed, or replaced by a copy."""

    def __init__(self, place: str, standing: Standing, least: int) -> None:
        there = f"is at event {standing.applied}" if standing.version is not None else "is gone"
        message = f"the table {there} and had come to event {least}"
        super().__init__("spark-table-set-back", message, where=place)
        self.version, self.applied = standing.version, standing.applied


@dataclass(frozen=True, slots=True)
class Lake:
    """The tables of a stream, how they follow their sources, and which of them are loading."""

    targets: Targets
    evolution: Evolution
    loads: Loads
    typed: TypedReads
    policy: TablePolicy


def run(job: Job, session: SparkSession, lake: Lake) -> None:
    """Bring the table to the end of the batch, unless it is there.

    Others may write to the table meanwhile, to compact it for example. Then the batch is taken
    anew, on top of what they did; who writes all the time is told of, and not waited for.
    """
    table = lake.targets.open(session, job.changes.schema.table, job.mode)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _take(job, table, session, lake)
        except HeadwaterError:
            raise
        except Exception as exc:
            if not table.contended(exc):
                raise classified(exc, job.changes.table) from exc
            if attempt == _ATTEMPTS:
                raise contended(table.place, attempt) from exc
            _LOG.info("table was written by others", extra={"table": job.name, "attempt": attempt})
        else:
            return


def _take(job: Job, table: Target, session: SparkSession, lake: Lake) -> None:
    mode = job.mode
    changes = judged(job.changes, lake.policy, table, mode)
    if not changes.schema.primary_key and mode != "append_log":
        raise ConfigError(
            "spark-no-key",
            f"table {changes.table} has no primary key, so its rows cannot be told apart",
            where=table.place,
        )
    task = Task(session.table(job.view), changes, job.until)
    standing = table.standing()
    if standing.applied < job.least:
        raise SetBackError(table.place, standing, job.least)
    standing = lake.loads.take(table, standing, task, mode)
    if standing.applied >= job.until:
        return
    fitted, altered = lake.evolution.follow(table, changes, mode, standing.applied)
    if altered:  # rows of an older version would lack the new columns
        standing = table.standing()
        if standing.applied >= job.until:
            return
    _write(table, replace(task, changes=fitted), job, standing, lake.typed)


def _write(table: Target, task: Task, job: Job, standing: Standing, typed: TypedReads) -> None:
    """Have the mode write the batch, from rows that the source has typed if it can."""
    way, told = WAYS[job.mode], None
    if job.mode in _LAST_ONLY:
        told = typed.changes(task.frame.sparkSession, task.changes)
    if told is not None:
        try:
            way(table, replace(task, typed=told), standing)
        except Exception as exc:
            if not typed.refused(task.changes, exc):
                raise
        else:
            return
    way(table, task, standing)
