"""One scenario: the application writes, workers are killed and started again, all is checked."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from headwater.errors import HeadwaterError
from tests.chaos.checker import check
from tests.chaos.evidence import collect
from tests.chaos.worker import Job, Place
from tests.chaos.workload import Workload

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 20.0
_BREATH_S = 0.004
_OFFLINE_STEPS = 2
# The rest of the script is kept for the worker that is not killed.
_LIVE_STEPS = 14
# After them a worker that is to be killed gets single transactions, each with the time to become a
# group of its own, so that a late passage of its failpoint comes on any machine.
_EXTRA_STEPS = 600
_EXTRA_BREATH_S = 0.03
_LOOK = """
import sqlite3, sys, time
log = sqlite3.connect(sys.argv[1])
print(log.execute("SELECT head FROM state").fetchone(), flush=True)
time.sleep(60)
"""


class DidNotFireError(Exception):
    """A kill did not happen: the scenario proves nothing."""


@dataclass(frozen=True)
class Kill:
    """A worker that is killed when it passes the failpoint for the n-th time.

    `examined` looks at what it left behind. Looking opens the log, and so folds its side file back.
    """

    failpoint: str
    hit: int = 1
    step: str = ""
    examined: bool = True


@dataclass(frozen=True)
class Plan:
    """Which workers are killed where, in order; then one runs to the end."""

    seed: int
    kills: tuple[Kill, ...]
    plant: str = ""
    retain: bool = False


class Nursery:
    """A process that forks workers; one lives at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.nursery"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A buffer would take in a quick worker's end with its beginning, and `alive`, which
            # asks the pipe, would wait for it for ever.
            bufsize=0,
        )

    def start(self, job: Job) -> Worker:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
        return Worker(self._process, pid=self._number())

    def _number(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Worker:
    """A running worker."""

    def __init__(self, nursery: subprocess.Popen[bytes], pid: int) -> None:
        assert nursery.stdout is not None
        self._answers = nursery.stdout
        self._pid = pid
        self.status: int | None = None

    def alive(self, wait_s: float = 0.0) -> bool:
        if self.status is None and select.select([self._answers], [], [], wait_s)[0]:
            self.status = int(self._answers.readline())
        return self.status is None

    def wait(self) -> int:
        """The exit status; a worker that does not end is ended and has none."""
        if self.alive(_PATIENCE_S):
            os.kill(self._pid, signal.SIGKILL)
            self.alive(_PATIENCE_S)
            raise DidNotFireError("the worker did not end in time")
        assert self.status is not None
        return self.status


@contextmanager
def nursery() -> Iterator[Nursery]:
    opened = Nursery()
    try:
        yield opened
    finally:
        opened.close()


def run(nursery: Nursery, directory: Path, plan: Plan) -> list[str]:
    """Carry the plan out; returns what is wrong, at the first point where anything is."""
    place = Place(directory)
    workload = Workload(place.database, plan.seed)
    try:
        for kill in plan.kills:
            found = _killed(nursery, place, workload, plan, kill)
            if found:
                return found
        return _to_the_end(nursery, place, workload, plan)
    finally:
        workload.close()


def _killed(
    nursery: Nursery, place: Place, workload: Workload, plan: Plan, kill: Kill
) -> list[str]:
    spec = f"{kill.failpoint}=kill@{kill.hit}"
    with _onlooker(place, wanted=bool(kill.step)):
        worker = _start(nursery, place, workload, _job(place, plan, spec, kill.step))
        _write(workload, worker, _LIVE_STEPS)
        for _ in range(_EXTRA_STEPS):
            if not worker.alive(_EXTRA_BREATH_S):
                break
            workload.extra()
        status = worker.wait()
    if status > 0:
        return [f"the worker failed before {spec}: {place.failure.read_text()[-600:]}"]
    if status != -signal.SIGKILL:
        raise DidNotFireError(f"{spec} was not reached")
    if not kill.examined:
        return []
    return _checked(place, workload, finished=False)


@contextmanager
def _onlooker(place: Place, *, wanted: bool) -> Iterator[None]:
    """Another process reads the log meanwhile, so that SQLite keeps its side file; it dies too."""
    if not wanted:
        yield
        return
    command = [sys.executable, "-c", _LOOK, str(place.log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as onlooker:
        assert onlooker.stdout is not None
        onlooker.stdout.readline()
        try:
            yield
        finally:
            onlooker.kill()


def _to_the_end(nursery: Nursery, place: Place, workload: Workload, plan: Plan) -> list[str]:
    worker = _start(nursery, place, workload, _job(place, plan, "", ""))
    _write(workload, worker, None)
    place.finished.touch()
    status = worker.wait()
    if status != 0:
        return [f"the last worker ended with {status}: {place.failure.read_text()[-600:]}"]
    return _checked(place, workload, finished=True)


def _job(place: Place, plan: Plan, failpoints: str, step: str) -> Job:
    return Job(
        directory=str(place.directory),
        failpoints=failpoints,
        plant=plan.plant,
        step=step,
        retain=plan.retain,
    )


def _start(nursery: Nursery, place: Place, workload: Workload, job: Job) -> Worker:
    """The application goes on while no worker lives, then a worker comes up."""
    for _ in range(_OFFLINE_STEPS):
        workload.step()
    place.ready.unlink(missing_ok=True)
    worker = nursery.start(job)
    while worker.alive() and not place.ready.exists():
        time.sleep(_BREATH_S)
    return worker


def _write(workload: Workload, worker: Worker, limit: int | None) -> None:
    written = 0
    while worker.alive() and (limit is None or written < limit) and workload.step():
        written += 1
        time.sleep(_BREATH_S)


def _checked(place: Place, workload: Workload, *, finished: bool) -> list[str]:
    try:
        return check(collect(place), workload.history, finished=finished)
    except HeadwaterError as error:
        return [f"the log cannot be read: {error}"]
