"""Drivers that are killed between a live application and Delta tables, and the final comparison."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headwater.log import SqliteLog
from tests.chaos.scenario import DidNotFireError, Kill, Nursery
from tests.chaos.worker import Job, Place
from tests.chaos.workload import KEYS, Workload

_ROOT = Path(__file__).parents[2]
PATIENCE_S = 400.0
_CHUNK = "source.sqlite.chunk_read"
# Short lives: compiling less and collecting simply makes a JVM start in two thirds of the time.
_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@dataclass
class Mirrored:
    """An application, its log, and the tables that drivers make of it."""

    place: Place
    workload: Workload
    nursery: Nursery
    max_events: int = 200_000

    def capture(self) -> None:
        """Let a worker bring everything that the application wrote into the log."""
        self.place.finished.touch()
        status = self.nursery.start(Job(directory=str(self.place.directory))).wait()
        assert status == 0, self.place.failure.read_text()[-600:]

    def advance(self, steps: int = 2) -> None:
        """The application goes on and is captured; at least three tables change."""
        for _ in range(steps):
            self.workload.step()
        self.workload.touch()
        self.capture()

    def begin_load(self) -> None:
        """A first load that takes several micro-batches, and every row changes in its middle."""
        self.max_events = 10
        for _ in range(4):
            self.workload.step()
        killed = Job(directory=str(self.place.directory), failpoints=f"{_CHUNK}=kill@5")
        assert self.nursery.start(killed).wait() == -signal.SIGKILL
        self.workload.rewrite()
        self.capture()

    @contextmanager
    def driver(
        self, failpoints: str = "", *, plant: str = "", dump: bool = False
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A driver in a process group of its own; whatever of it is left at the end is ended."""
        self.trace.unlink(missing_ok=True)
        arguments = [
            str(self.place.directory),
            f"--plant={plant}",
            f"--max-events={self.max_events}",
            *(["--dump"] if dump else []),
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

    def kill(self, kill: Kill) -> None:
        """Run a driver into the kill.

        The stream reader lives in a Python process beside the driver: killed there, the driver ends
        with an error instead of dying itself.
        """
        with self.driver(f"{kill.failpoint}=kill@{kill.hit}") as process:
            status = process.wait(PATIENCE_S)
        beside = kill.failpoint.startswith("spark.source.")
        if self.passed(kill.failpoint) < kill.hit or status != (1 if beside else -signal.SIGKILL):
            raise DidNotFireError(f"{kill}: the driver ended with {status}: {self.output()}")

    def run_to_the_end(self, *, plant: str = "") -> None:
        with self.driver(plant=plant, dump=True) as process:
            assert process.wait(PATIENCE_S) == 0, self.output()

    def output(self) -> str:
        return (self.place.directory / "driver.log").read_text()[-1500:]

    def differences(self) -> list[str]:
        """Where the tables, as the last dump saw them, are not the source."""
        dump = json.loads((self.place.directory / "dump.json").read_text())
        found = []
        for table, wanted in self.workload.history.last.state.items():
            rows = {tuple(row[name] for name in KEYS[table]): row for row in dump[table]}
            if len(rows) != len(dump[table]):
                found.append(f"{table}: a key stands twice")
            keys = [k for k in rows.keys() | wanted.keys() if rows.get(k) != wanted.get(k)]
            if keys:
                found.append(f"{table}: differs at {sorted(keys, key=repr)[:5]}")
        info = SqliteLog(self.place.log).info()
        acked = {cursor.name: cursor.acked for cursor in info.cursors}["spark"]
        if acked != info.bounds.head:
            found.append(f"the cursor is at {acked}, the log at {info.bounds.head}")
        return found


@contextmanager
def mirrored(nursery: Nursery, directory: Path, seed: int) -> Iterator[Mirrored]:
    place = Place(directory)
    workload = Workload(place.database, seed)
    try:
        yield Mirrored(place, workload, nursery)
    finally:
        workload.close()
