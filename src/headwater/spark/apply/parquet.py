"""Parquet: an append log per table, and its rows from time to time. It needs no jar.

Parquet has no MERGE.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.contract import SchemaHistory
from headwater.errors import DataError, GapError, HeadwaterError
from headwater.failpoint import failpoint
from headwater.spark.apply.job import Job
from headwater.spark.apply.late import parts
from headwater.spark.apply.look import FrameLook, Look
from headwater.spark.apply.parking import Parking
from headwater.spark.apply.report import Reports
from headwater.spark.apply.settle import Done, Settling
from headwater.spark.apply.tables import Reread
from headwater.spark.change.changes import row_changes
from headwater.spark.change.contents import Contents, classified, contents, used
from headwater.spark.gateway.files import Files
from headwater.spark.modes import Mode, Modes
from headwater.spark.state.entry import Key
from headwater.spark.table.fit import in_one_shape
from headwater.spark.table.parquet import Appended, SnapshotPolicy
from headwater.spark.table.path import table_path
from headwater.spark.table.standing import appended

# What `current_rows` gives of the changes: tables are called by it as those of other formats are.
_MODE: Mode = "mirror"


@dataclass(slots=True)
class AppendLog:
    """Appends every change, typed, to a folder per table.

    Delivery: exactly once per table and batch: a batch has a folder of its own, named by its last
    sequence number, and a table takes only what comes after the newest of them.
    """

    target: str
    history: SchemaHistory
    log_id: str
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    modes: Modes = field(default_factory=Modes)
    at_once: int = 4
    parking: Parking = field(default_factory=Parking)
    reread: Reread | None = None
    reports: Reports = field(default_factory=Reports)
    look: Look | None = None
    _look: Look = field(init=False)
    _settling: Settling = field(init=False)

    def __post_init__(self) -> None:
        """How a batch is looked through, and what becomes of tables that fail."""
        self._look = self.look or FrameLook(self.history)
        self._settling = Settling(self.parking, self.reports, self._is_storage_there)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Append one micro-batch."""
        failpoint("spark.batch.begin")
        events = used(frame).persist()
        try:
            batch = contents(events, self.history)
            if not batch.until:  # it is there for parked tables: its range says up to where
                batch = self._look(events, batch_id)
            self._take(events, batch)
        finally:
            events.unpersist()
        failpoint("spark.batch.end")

    def _take(self, events: DataFrame, batch: Contents) -> None:
        jobs = [job for job in _jobs(batch, batch.until) if job.name not in self.parking]
        done = self._run(events, jobs)
        caught: list[Key] = []
        for name in self.parking.due() if batch.until else []:
            tries, is_well = self._catch_up(events, name, batch.until)
            done += tries
            caught += is_well
        self._settling.settle(events.sparkSession, done, batch.after, caught)
        self._settling.release(caught)

    def _run(self, events: DataFrame, jobs: Iterable[Job]) -> list[Done]:
        with ThreadPoolExecutor(self.at_once) as pool:
            return [(job, pool.submit(self._timed, events, job)) for job in jobs]

    def _timed(self, events: DataFrame, job: Job) -> float:
        begin = time.perf_counter()
        try:
            self._append(events, job)
        except HeadwaterError:
            raise
        except Exception as exc:
            raise classified(exc, job.changes.table) from exc
        return time.perf_counter() - begin

    def _append(self, events: DataFrame, job: Job) -> None:
        changes = job.changes
        table = Appended(events.sparkSession, table_path(self.target, changes.schema.table))
        table.claim(self.log_id, changes.schema.primary_key)
        applied = table.applied()
        if applied < job.until:
            # What a truncate leaves nothing of is appended all the same: these are all changes.
            rows = row_changes(events, in_one_shape(changes), applied)
            emptied = changes.truncated_at if changes.emptied(applied) else None
            table.append(appended(rows), job.until, emptied)
        table.compact(changes.schema.primary_key, self.snapshots)

    def _catch_up(
        self, frame: DataFrame, name: str, until: int
    ) -> tuple[list[Done], tuple[Key, ...]]:
        """Bring a parked table to the end of the batch, from the log; its key if it is."""
        done = list[Done]()
        key = self.modes.called(name, self.history)
        if self.reread is None or key is None:
            return done, ()
        table, _ = key
        ours = f.col("schema").eqNullSafe(f.lit(table.schema)) & (f.col("table") == table.name)
        stay = self.parking.stay(name)
        if stay.released and stay.after > until:  # what comes before is to be left out
            return done, ()
        try:
            for between in parts(stay.after, until):
                events = used(self.reread(frame, *between).where(ours))
                batch = self._look.late(events, table, between)
                took = self._run(events, _jobs(batch, between[1]))
                done += took
                if any(work.exception() for _, work in took):
                    return done, ()
        except GapError as exc:
            gap = DataError("spark-table-gap", f"{name}: {exc.message}", where=exc.where)
            self._settling.set_aside(frame.sparkSession, name, stay.after, gap)
            return done, ()
        return done, (key,)

    def _is_storage_there(self, session: SparkSession) -> bool:
        try:
            Files(session, self.target).names(self.target)
        except Exception:  # noqa: BLE001 - whatever it says, it does not answer
            return False
        return True


def _jobs(batch: Contents, until: int) -> list[Job]:
    """What a batch holds for each table; all of them read its frame, in the stream's session."""
    return [Job(changes, _MODE, view="", until=until) for changes in batch.tables]
