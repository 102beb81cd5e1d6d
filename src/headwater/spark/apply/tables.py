"""A micro-batch to the tables that it concerns, each in the modes that were chosen for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.contract import TableHistory
from headwater.errors import DataError, GapError
from headwater.failpoint import failpoint
from headwater.spark.apply.evolve import Evolution
from headwater.spark.apply.job import WAYS, Job, Lake, SetBackError, run
from headwater.spark.apply.late import Late, parts
from headwater.spark.apply.loads import Loads
from headwater.spark.apply.look import FrameLook, Look
from headwater.spark.apply.parking import Parking, Stay
from headwater.spark.apply.report import Reports
from headwater.spark.apply.sessions import Sessions, shared
from headwater.spark.apply.settle import Done, Settling
from headwater.spark.apply.typed_reads import AskRows, TypedReads
from headwater.spark.change.changes import TableChanges
from headwater.spark.change.contents import Contents, used
from headwater.spark.keep.keeper import Keeper
from headwater.spark.modes import Mode, Modes, name_of
from headwater.spark.policy import TablePolicy
from headwater.spark.state.entry import NONE, Key, Reached
from headwater.spark.state.positions import reached
from headwater.spark.state.publish import Finished, Publication
from headwater.spark.table.target import Targets

_LOG = logging.getLogger(__name__)
_READING_ONCE: set[Mode] = {"mirror", "append_log"}
# From the stream's frame to the events of the log in (after, until].
Reread = Callable[[DataFrame, int, int], DataFrame]


class Apply(Protocol):
    """What a stream does with each micro-batch."""

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply the batch; called again with the same batch after a crash."""
        ...


@dataclass(slots=True)
class Tables:
    """Keeps tables of one lake, one per source table and mode.

    Delivery: exactly once per table and batch. A crash between the tables of a batch is safe: each
    table knows its own position and takes only what it lacks. When all have taken it, `publication`
    makes their versions known as a set. MERGEs of different tables wait for storage more than for
    cores, so some run at once.
    """

    targets: Targets
    history: TableHistory
    modes: Modes = field(default_factory=Modes)
    evolution: Evolution = field(default_factory=Evolution)
    policy: TablePolicy = field(default_factory=TablePolicy)
    at_once: int = 4
    parking: Parking = field(default_factory=Parking)
    reread: Reread | None = None
    reports: Reports = field(default_factory=Reports)
    keeper: Keeper | None = None
    publication: Publication | None = None
    look: Look | None = None
    ask: AskRows | None = None
    _sessions: Sessions = field(default_factory=Sessions)
    _lake: Lake = field(init=False)
    _look: Look = field(init=False)
    _late: Late | None = field(init=False)
    _settling: Settling = field(init=False)

    def __post_init__(self) -> None:
        """What an earlier process has begun to load is found with the first batch."""
        typed = TypedReads(self.ask)
        loads = Loads(self.targets, self.history, self.evolution, WAYS, typed, self.policy)
        self._lake = Lake(self.targets, self.evolution, loads, typed, self.policy)
        self._look = self.look or FrameLook(self.history)
        self._settling = Settling(self.parking, self.reports, self._is_storage_there)
        self._late = None
        if self.publication is not None and self.reread is not None:
            told = self.publication
            self._late = Late(self.targets, self.history, self.modes, self.parking, told)

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Apply one micro-batch to every table in it."""
        failpoint("spark.batch.begin")
        session, look = frame.sparkSession, partial(self._look, batch_id=batch_id)
        with self._held(frame, look) as (batch, name):
            if self._late is not None:
                self._late.meet(session, batch.after)
            jobs = [job for job in self._jobs(batch, name) if job.name not in self.parking]
            done = list(self._in_step(self._run(frame, jobs)))
            # A batch may be empty: the end of a load has no event of its own.
            due = self.parking.due() if batch.until else []
            caught: list[Key] = []
            for table in due:
                tries, is_well = self._catch_up(frame, table, batch.until)
                done += tries
                caught += is_well
            self._settling.settle(session, done, batch.after, caught)
            switched = self._finish_loads(session, batch)
        moved = [*(job.key for job, _ in done), *switched, *caught]
        self._publish(session, batch, moved, caught)
        if self._is_told(batch.until):  # that they lack nothing
            self._settling.release(caught)
        self._keep(frame, [job for job, work in done if work.exception() is None])
        failpoint("spark.batch.end")

    def _publish(
        self, session: SparkSession, batch: Contents, moved: Iterable[Key], caught: Collection[Key]
    ) -> None:
        """Make the versions known that belong together now. What is parked may not even open."""
        if self.publication is None:
            return
        modes, told = self.modes.knowing(self.history), self.publication
        known = modes.known(self.history)
        unmet = told.unmet(session, known)
        places = {
            key: self.parking.stay(name).after
            for key in {*known, *told.met()}.difference(caught)
            if (name := name_of(*key)) in self.parking
        }
        well = [key for key in dict.fromkeys(moved) if key not in places]
        with ThreadPoolExecutor(self.at_once) as pool:
            found = pool.map(partial(self._seen, session), well)
            there = pool.map(partial(self._met, session), unmet.difference(well, places))
        seen, met = [*found], [each for each in there if each is not None]
        unkept = (each.schema.table for each in batch.tables if not modes.of(each.schema.table))
        told(
            session,
            Finished(
                batch.until,
                batch.committed_at_us,
                [each for each in seen if each.version != NONE],
                there=[each for each in met if each.version != NONE],
                missing=[
                    replace(each, applied=batch.until)
                    for each in (*seen, *met)
                    if each.version == NONE
                ],
                passed=(*batch.passed, *unkept),
                places=places,
            ),
            modes,
        )

    def _is_told(self, until: int) -> bool:
        """Whether what was written down does not go beyond a batch, as after a lost checkpoint."""
        return self.publication is None or self.publication.until <= until

    def _seen(self, session: SparkSession, key: Key) -> Reached:
        """Where a table stands, or that it is yet to come, or is being loaded."""
        found = reached(self.targets, session, *key)
        if found is not None:
            return found
        loads = self._lake.loads.begun(*key)
        place = self.targets.open(session, *key).place if loads else ""
        return Reached(*key, place, NONE, 0)

    def _met(self, session: SparkSession, key: Key) -> Reached | None:
        """The same of a table without an event; its first one parks it if it cannot be opened."""
        try:
            return self._seen(session, key)
        except Exception:  # noqa: BLE001 - whatever it is, it is not this batch's
            _LOG.warning("table cannot be opened", extra={"table": name_of(*key)}, exc_info=True)
            return None

    def _keep(self, frame: DataFrame, written: Iterable[Job]) -> None:
        if self.keeper is not None:
            with self._sessions.one(frame.sparkSession) as session:
                tables = [(job.changes.schema.table, job.mode) for job in written]
                self.keeper.after_batch(session, tables)

    @contextmanager
    def _held(
        self, frame: DataFrame, look: Callable[[DataFrame], Contents]
    ) -> Iterator[tuple[Contents, str]]:
        """What a frame holds, and its events under a name for every session."""
        events = used(frame)
        try:
            batch = look(events)
            if not self._is_read_once(batch):
                events.persist()
            with shared(events, f"headwater_{uuid4().hex}") as name:
                yield batch, name
        finally:
            events.unpersist()

    def _is_read_once(self, batch: Contents) -> bool:
        """Whether only one job will read the events, and that only once."""
        modes = [mode for _, mode in self._wanted(batch)]
        return (
            len(modes) <= 1
            and not any(each.carrying for each in batch.tables)
            and (set(modes) <= _READING_ONCE)
        )

    def _jobs(self, batch: Contents, view: str) -> list[Job]:
        jobs = [Job(changes, mode, view, batch.until) for changes, mode in self._wanted(batch)]
        late = self._late
        return jobs if late is None else [replace(job, least=late.least(job.key)) for job in jobs]

    def _wanted(self, batch: Contents) -> list[tuple[TableChanges, Mode]]:
        """What the batch holds for each table, in each mode that the table is kept in."""
        known = self.modes.knowing(self.history)
        return [
            (changes, mode)
            for changes in batch.tables
            for mode in known.of(changes.schema.table)
            if changes.events or mode != "append_log"  # that a table went is no event of its own
        ]

    def _in_step(self, done: Iterable[Done]) -> Iterator[Done]:
        """Without the tables that lack what they had: those are to catch up."""
        for job, work in done:
            error = work.exception()
            if self._late is not None and isinstance(error, SetBackError):
                self._late.set_back(job, error)
            else:
                yield job, work

    def _catch_up(
        self, frame: DataFrame, name: str, until: int
    ) -> tuple[list[Done], tuple[Key, ...]]:
        """Bring a table that is behind to the end of the batch, from the log; its key if it is."""
        key, done, session = self.modes.called(name, self.history), list[Done](), frame.sparkSession
        if self.reread is None or key is None:
            return done, ()
        stay = self.parking.stay(name)
        if stay.released and stay.after > until:  # what comes before is to be left out
            return done, ()
        try:
            stay = self._where(session, key)
        except Exception as exc:  # noqa: BLE001 - whose it is, is seen there
            self._settling.set_aside(session, name, stay.after, exc)
            return done, ()
        try:
            for between in parts(stay.after, until):
                tries = self._took(frame, key, between)
                took = list(self._in_step(tries))
                done += took
                if len(took) < len(tries):  # it lacks what it had: from there, then
                    again, is_well = self._catch_up(frame, name, until)
                    return [*done, *again], is_well
                if any(work.exception() for _, work in took):
                    return done, ()
        except GapError as exc:
            gap = DataError("spark-table-gap", f"{name}: {exc.message}", where=exc.where)
            self._settling.set_aside(session, name, stay.after, gap)
            return done, ()
        try:
            self._bring(session, key, until)
        except Exception as exc:  # noqa: BLE001 - whose it is, is seen there
            self._settling.set_aside(session, name, stay.after, exc)
            return done, ()
        return done, (key,)

    def _where(self, session: SparkSession, key: Key) -> Stay:
        """The place of a parked table that is there, or begins anew."""
        if self._late is not None:
            self._late.begin_anew(session, key)
        return self.parking.stay(name_of(*key))

    def _bring(self, session: SparkSession, key: Key, until: int) -> None:
        """Have a table say itself that it lacks nothing: the last events may be of others alone."""
        loads = self._lake.loads
        with self._sessions.one(session) as own:
            target = self.targets.open(own, *key)
            if key in loads.over(own, until, self.modes):
                loads.finish(target, *key, until)
            standing = target.standing()
            if standing.version is not None and standing.applied < until:
                target.mark(until)

    def _took(self, frame: DataFrame, key: Key, between: tuple[int, int]) -> list[Done]:
        """What came of a part of the log for one table."""
        if self.reread is None:
            return []
        table, mode = key
        events = self.reread(frame, *between)
        ours = f.col("schema").eqNullSafe(f.lit(table.schema)) & (f.col("table") == table.name)
        look = partial(self._look.late, table=table, between=between)
        stay = self.parking.stay(name_of(*key))
        least = 0 if self._late is None else self._late.least_of(key, stay)
        with self._held(events.where(ours), look) as (batch, view):
            jobs = [Job(changes, mode, view, between[1], least) for changes in batch.tables]
            return self._run(frame, jobs)

    def _run(self, frame: DataFrame, jobs: Iterable[Job]) -> list[Done]:
        with ThreadPoolExecutor(self.at_once) as pool:
            return [(job, pool.submit(self._timed, frame, job)) for job in jobs]

    def _timed(self, frame: DataFrame, job: Job) -> float:
        begin = time.perf_counter()
        with self._sessions.one(frame.sparkSession) as session:
            run(job, session, self._lake)
        return time.perf_counter() - begin

    def _finish_loads(self, session: SparkSession, batch: Contents) -> list[Key]:
        """A table that the batch does not mention may have had the last of its rows before."""
        loads, finished = self._lake.loads, list[Key]()
        for table, mode in loads.over(session, batch.until, self.modes):
            name = name_of(table, mode)
            if name in self.parking:
                continue
            try:
                with self._sessions.one(session) as own:
                    loads.finish(self.targets.open(own, table, mode), table, mode, batch.until)
                    finished.append((table, mode))
            except Exception as exc:  # noqa: BLE001 - whose it is, is seen there
                self._settling.set_aside(session, name, batch.after, exc)
        return finished

    def _is_storage_there(self, session: SparkSession) -> bool:
        """Whether the place of the tables answers: else none of them is to blame."""
        if self.publication is None:
            return False
        try:
            self.publication.written(session)
        except Exception:  # noqa: BLE001 - whatever it says, it does not answer
            return False
        return True
