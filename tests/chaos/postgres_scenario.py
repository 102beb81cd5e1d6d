"""One scenario on PostgreSQL: an application writes, workers and the server die, all is checked."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from itertools import cycle
from pathlib import Path

from headwater.contract import Answer, Verb, Wish
from headwater.errors import HeadwaterError
from headwater.event import Event, Operation
from headwater.log import SqliteLog
from headwater.source.postgres.server.catalog import read_tables
from headwater.source.postgres.server.publication import ensure
from tests.chaos import postgres_truth
from tests.chaos.postgres_checker import Evidence, check
from tests.chaos.postgres_worker import caught_up, config
from tests.chaos.postgres_workload import BIG_ROWS, Workload
from tests.chaos.scenario import DidNotFireError, Kill, Nursery, Worker
from tests.chaos.worker import Job, Place
from tests.fix_postgres import PostgresDatabase

_BREATH_S = 0.003
_OFFLINE_STEPS = 2
_EARLY_STEPS = 3
_LIVE_STEPS = 7
_PATIENCE_S = 5.0
_EXTRA_STEPS = 600
_EXTRA_BREATH_S = 0.02


class Outage(Enum):
    """When the server goes down without a checkpoint."""

    NEVER = "never"
    BETWEEN_WORKERS = "between workers"
    UNDER_A_WORKER = "under a worker"


@dataclass(frozen=True)
class Plan:
    """Which workers are killed where, in order; then one runs to the end.

    The workers use the transports in turn. The rows of the tables in `asks` are asked for while the
    first of them lives.
    """

    seed: int
    kills: tuple[Kill, ...]
    plant: str = ""
    outage: Outage = Outage.NEVER
    largest: int = BIG_ROWS
    transports: tuple[str, ...] = ("replication",)
    asks: tuple[str, ...] = ()


class Scenario:
    """A database, its application and the log."""

    def __init__(
        self, nursery: Nursery, database: PostgresDatabase, directory: Path, plan: Plan
    ) -> None:
        self._nursery = nursery
        self._database = database
        self._place = Place(directory)
        self._plan = plan
        self._heads: list[int] = []
        self._transports = cycle(plan.transports)
        self._asked: list[int] = []
        self._workload = Workload(database, plan.seed, plan.largest)
        postgres_truth.watch(database)
        chosen = config(database.dsn())
        with database.connect() as owner:
            ensure(owner, chosen, read_tables(owner, chosen))

    def run(self) -> list[str]:
        """Carry the plan out; returns what is wrong."""
        try:
            for kill in self._plan.kills:
                self._killed(kill)
                if self._plan.outage is Outage.BETWEEN_WORKERS:
                    self._crash()
            self._to_the_end()
            return self._checked()
        except WorkerFailedError as failure:
            return [str(failure)]
        finally:
            self._workload.close()

    def _killed(self, kill: Kill) -> None:
        spec = f"{kill.failpoint}=kill@{kill.hit}"
        worker = self._start(spec)
        self._write(worker, _EARLY_STEPS)
        self._wait_until_caught_up(worker)
        self._ask()
        self._write(worker, _LIVE_STEPS)
        for _ in range(_EXTRA_STEPS):
            if not worker.alive(_EXTRA_BREATH_S):
                break
            self._workload.extra()
        status = worker.wait()
        if status > 0:
            raise WorkerFailedError(f"the worker failed before {spec}: {self._failure()}")
        if status != -signal.SIGKILL:
            raise DidNotFireError(f"{spec} was not reached")
        self._heads.append(self._head())

    def _to_the_end(self) -> None:
        worker = self._start("")
        self._write(worker, _EARLY_STEPS)
        self._wait_until_caught_up(worker)
        if self._plan.outage is Outage.UNDER_A_WORKER:
            self._crash()
        self._write(worker, None)
        self._workload.fence()
        self._wait_while_the_log_grows(worker)
        status = worker.wait()
        if status != 0:
            raise WorkerFailedError(f"the last worker ended with {status}: {self._failure()}")

    def _start(self, failpoints: str) -> Worker:
        """The application goes on while no worker lives, then a worker comes up."""
        for _ in range(_OFFLINE_STEPS):
            self._workload.step()
        self._place.ready.unlink(missing_ok=True)
        caught_up(self._place).unlink(missing_ok=True)
        job = Job(
            directory=str(self._place.directory),
            failpoints=failpoints,
            plant=self._plan.plant,
            dsn=self._database.dsn(),
            transport=next(self._transports),
        )
        worker = self._nursery.start(job)
        while worker.alive() and not self._place.ready.exists():
            time.sleep(_BREATH_S)
        return worker

    def _ask(self) -> None:
        if self._asked or not self._plan.asks:
            return
        with closing(SqliteLog(self._place.log).commands()) as commands:
            wishes = (Wish(verb=Verb.START, table=table) for table in self._plan.asks)
            self._asked = [commands.ask(wish) for wish in wishes]

    def _wait_until_caught_up(self, worker: Worker) -> None:
        """What was written so far may be in the snapshot; what follows is in the stream."""
        while worker.alive(_BREATH_S) and not caught_up(self._place).exists():
            pass

    def _wait_while_the_log_grows(self, worker: Worker) -> None:
        """A huge transaction takes longer than any fixed patience."""
        before, size = -1, 0
        while worker.alive(_PATIENCE_S) and size != before:
            before, size = size, self._place.log.stat().st_size

    def _write(self, worker: Worker, limit: int | None) -> None:
        written = 0
        while worker.alive() and (limit is None or written < limit) and self._workload.step():
            written += 1
            time.sleep(_BREATH_S)

    def _crash(self) -> None:
        self._database.server.crash()
        self._database.server.start()
        self._workload.reconnect()

    def _checked(self) -> list[str]:
        try:
            events = _events(self._place)
        except HeadwaterError as error:
            return [f"the log cannot be read: {error}"]
        return list(self._answers(events)) + check(
            Evidence(
                events=events,
                truth=postgres_truth.changes(self._database),
                rows=postgres_truth.rows(self._database),
                heads=self._heads,
                contexts=self._workload.contexts,
            )
        )

    def _answers(self, events: list[Event]) -> Iterator[str]:
        """Every command was carried out, and none twice: what never changes tells by its number."""
        with closing(SqliteLog(self._place.log).commands()) as commands:
            answers = {number: commands.answered(number) for number in self._asked}
        yield from (f"command {n}: {a}" for n, a in answers.items() if a != Answer())
        wanted = 1 + self._plan.asks.count("quiet")
        reads = Counter(
            event.after["id"] for event in events if _reads_quiet(event) and event.after
        )
        wrong = {key: count for key, count in reads.items() if count != wanted}
        if wrong or not reads:
            yield f"rows of quiet were not read {wanted} times: {wrong}"

    def _head(self) -> int:
        if not self._place.log.exists():
            return 0
        reader = SqliteLog(self._place.log).reader()
        try:
            return reader.bounds().head
        finally:
            reader.close()

    def _failure(self) -> str:
        return self._place.failure.read_text()[-600:]


class WorkerFailedError(Exception):
    """A worker ended with an error of its own."""


def _reads_quiet(event: Event) -> bool:
    return event.table == "quiet" and event.op is Operation.READ


def _events(place: Place) -> list[Event]:
    reader = SqliteLog(place.log).reader()
    try:
        return [event for batch in reader.read(0) for event in batch]
    finally:
        reader.close()
