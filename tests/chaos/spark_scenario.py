"""Drivers that are killed between a log and its tables, and what the tables hold in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob
from headwater.spark.modes import MODES, Mode
from headwater.testing.history.log import History
from tests.chaos.scenario import DidNotFireError, Kill, Nursery
from tests.chaos.spark_held import Held, oracles
from tests.chaos.spark_job import job_of
from tests.chaos.worker import Job, Place
from tests.chaos.workload import KEYS, Workload

_ROOT = Path(__file__).parents[2]
PATIENCE_S = 400.0
_CHUNK = "source.sqlite.chunk_read"
# Short lives: compiling less and collecting simply makes a JVM start in two thirds of the time.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Events of a first load: it takes three micro-batches.
_A_THIRD = 40


@dataclass
class Drivers(ABC):
    """A log, and the drivers that bring tables of it, or all, to its end, one after another."""

    place: Place
    table_format: TableFormat = "delta"
    tables: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = MODES
    max_events: int = 200_000

    @abstractmethod
    def advance(self) -> None:
        """Every table changes, and the log has it."""

    @property
    def job(self) -> TableJob:
        """What the last driver does, which is the test itself: it may live."""
        return job_of(
            self.place,
            self.table_format,
            max_events=self.max_events,
            tables=self.tables,
            modes=self.modes,
        )

    @contextmanager
    def driver(self, failpoints: str = "", plant: str = "") -> Iterator[subprocess.Popen[bytes]]:
        """A driver in a process group of its own; whatever of it is left at the end is ended."""
        self.trace.unlink(missing_ok=True)
        arguments = [
            str(self.place.directory),
            f"--format={self.table_format}",
            f"--max-events={self.max_events}",
            f"--plant={plant}",
            *("--tables", *self.tables),
            *("--modes", *self.modes),
        ]
        with (self.place.directory / "driver.log").open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.spark_driver", *arguments],
                cwd=_ROOT,
                env=os.environ
                | {
                    "HEADWATER_FAILPOINT": failpoints,
                    "HEADWATER_FAILPOINT_TRACE": str(self.trace),
                    "HEADWATER_SPARK_LOG": str(self.place.directory / "spark"),
                    "JDK_JAVA_OPTIONS": os.environ.get("JDK_JAVA_OPTIONS", _JVM),
                },
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @property
    def trace(self) -> Path:
        return self.place.directory / "trace"

    def passed(self, failpoint: str) -> int:
        """How often the latest driver, or a Python worker of it, passed the failpoint."""
        if not self.trace.exists():
            return 0
        return self.trace.read_text().splitlines().count(failpoint)

    def wait_for(self, process: subprocess.Popen[bytes], failpoint: str) -> None:
        """Return when the driver has come to the failpoint."""
        until = time.monotonic() + PATIENCE_S
        while not self.passed(failpoint):
            if time.monotonic() > until or process.poll() is not None:
                raise DidNotFireError(f"{failpoint} was not reached: {self.output()}")
            time.sleep(0.05)

    def kill(self, kill: Kill, plant: str = "") -> None:
        """Run a driver into the kill.

        The stream reader lives in a Python process beside the driver: killed there, the driver ends
        with an error instead of dying itself.
        """
        with self.driver(f"{kill.failpoint}=kill@{kill.hit}", plant) as process:
            status = process.wait(PATIENCE_S)
        beside = kill.failpoint.startswith("spark.source.")
        if self.passed(kill.failpoint) < kill.hit or status != (1 if beside else -signal.SIGKILL):
            raise DidNotFireError(f"{kill}: the driver ended with {status}: {self.output()}")

    def run_to_the_end(self, plant: str = "") -> None:
        """In a driver of its own, where a bug may be planted."""
        with self.driver(plant=plant) as process:
            assert process.wait(PATIENCE_S) == 0, self.output()

    def finish(self, session: SparkSession) -> None:
        """Bring the tables to the end of the log, as any other process than the killed ones."""
        self.job.run_once(session)

    def output(self) -> str:
        return (self.place.directory / "driver.log").read_text()[-1500:]

    def differences(self, session: SparkSession) -> list[str]:
        """Where the tables are not what the log says, event by event."""
        held = Held(session, self.job)
        published = [] if self.table_format == "parquet" else held.unpublished()
        return [*held.differences(), *published]


class Followed(Drivers):
    """Of a seeded history in which updates leave columns out."""

    def __init__(self, place: Place, table_format: TableFormat, history: History) -> None:
        super().__init__(place, table_format)
        self.history = history

    def advance(self) -> None:
        """Every table changes, each of those with long values in a part of a row."""
        before = self.history.head
        while not self._is_varied(before):
            assert self.history.left, "the history is over"
            self.history.grow(1)

    def _is_varied(self, before: int) -> bool:
        told = [
            event
            for batch in self.history.log.reader().read(before, self.history.head)
            for event in batch
        ]
        parts = {event.table for event in told if event.unavailable_columns}
        return parts == {"orders", "files"} and len({event.table for event in told}) == 3


class Mirrored(Drivers):
    """Of an application that is captured: the tables are also what it knows of itself."""

    def __init__(
        self, place: Place, table_format: TableFormat, workload: Workload, nursery: Nursery
    ) -> None:
        super().__init__(place, table_format)
        self.workload = workload
        self.nursery = nursery

    def capture(self) -> None:
        """Let a worker bring everything that the application wrote into the log."""
        self.place.finished.touch()
        status = self.nursery.start(Job(directory=str(self.place.directory))).wait()
        assert status == 0, self.place.failure.read_text()[-600:]

    def advance(self) -> None:
        """The application goes on and is captured."""
        for _ in range(2):
            self.workload.step()
        self.workload.touch()
        self.capture()

    def begin_load(self) -> None:
        """Some of the rows of a first load, which takes several micro-batches."""
        self.max_events = _A_THIRD
        for _ in range(4):
            self.workload.step()
        killed = Job(directory=str(self.place.directory), failpoints=f"{_CHUNK}=kill@5")
        assert self.nursery.start(killed).wait() == -signal.SIGKILL

    def end_load(self) -> None:
        """Every row has changed, and the others are read."""
        self.workload.rewrite()
        self.capture()

    def differences(self, session: SparkSession) -> list[str]:
        return [*super().differences(session), *self.from_the_source(session)]

    def from_the_source(self, session: SparkSession) -> Iterator[str]:
        """Where the mirrors are not the source as it is now."""
        held = Held(session, self.job)
        known = {schema.table.name: schema for schema, _ in oracles(held.log)}
        for table, wanted in self.workload.history.last.state.items():
            if self.tables and table not in self.tables:
                continue
            told = held.rows(known[table]) if table in known else []
            rows = {tuple(row[name] for name in KEYS[table]): row for row in told}
            if len(rows) != len(told):
                yield f"{table}: a key stands twice"
            keys = [k for k in rows.keys() | wanted.keys() if rows.get(k) != wanted.get(k)]
            if keys:
                yield f"{table}: differs from the source at {sorted(keys, key=repr)[:5]}"


@contextmanager
def mirrored(
    nursery: Nursery, directory: Path, seed: int, table_format: TableFormat = "delta"
) -> Iterator[Mirrored]:
    place = Place(directory)
    workload = Workload(place.database, seed)
    try:
        yield Mirrored(place, table_format, workload, nursery)
    finally:
        workload.close()


@contextmanager
def followed(directory: Path, seed: int, table_format: TableFormat) -> Iterator[Followed]:
    place = Place(directory)
    history = History(place.log, seed, transactions=200)
    try:
        yield Followed(place, table_format, history)
    finally:
        history.close()
