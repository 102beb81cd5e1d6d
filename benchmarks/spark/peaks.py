"""What a session's processes take, Python driver, JVM and Python workers: memory, and CPU time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

_EVERY_S = 0.2


@dataclass(slots=True)
class Peaks:
    """In MB. Of one process it is the peak that the kernel keeps.

    Workers are forks of each other. `workers` counts what they share once, but is only looked at
    now and then; `apart` adds up the peak of each, and counts it as often as it is shared.
    """

    driver: int = 0
    jvm: int = 0
    workers: int = 0
    apart: int = 0

    def look(self, jvm: int) -> None:
        """Not what getrusage says: a process inherits that figure from the one that started it."""
        workers = [pid for pid in _below(jvm) if _is_python(pid)]
        self.driver = max(self.driver, _mb(os.getpid(), "status", "VmHWM"))
        self.jvm = max(self.jvm, _mb(jvm, "status", "VmHWM"))
        self.workers = max(self.workers, sum(_mb(pid, "smaps_rollup", "Pss") for pid in workers))
        self.apart = max(self.apart, sum(_mb(pid, "status", "VmHWM") for pid in workers))


@contextmanager
def watched(spark: SparkSession) -> Iterator[Peaks]:
    """The peaks of a session's processes, complete when the block ends."""
    jvm = _jvm_of(spark)
    peaks, done = Peaks(), threading.Event()

    def watch() -> None:
        while not done.wait(_EVERY_S):
            peaks.look(jvm)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join()
        peaks.look(jvm)


def cpu_s(spark: SparkSession) -> float:
    """The CPU time of the JVM and of all workers so far, those that have ended too."""
    jvm = _jvm_of(spark)
    ticks = sum(sum(map(int, _stat(pid)[11:15])) for pid in (jvm, *_below(jvm)))
    return ticks / os.sysconf("SC_CLK_TCK")


def _jvm_of(spark: SparkSession) -> int:
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark does not tell it otherwise
    pid: int = gateway.proc.pid  # type: ignore[union-attr]
    return pid


def _mb(pid: int, file: str, name: str) -> int:
    """A figure that the kernel tells of a process; 0 of one that is gone."""
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:
        return 0
    found = (line.split()[1] for line in lines if line.startswith(f"{name}:"))
    return int(next(found, 0)) // 1024


def _is_python(pid: int) -> bool:
    """A child that the JVM has just made is still the JVM, with all of its memory."""
    try:
        return Path(f"/proc/{pid}/exe").readlink().name.startswith("python")
    except OSError:
        return False


def _below(pid: int) -> list[int]:
    """The processes that it started, and those that they did."""
    every = [int(process.name) for process in Path("/proc").glob("[0-9]*")]
    parents = {each: int(_stat(each)[1]) for each in every}
    found: list[int] = []
    fresh = {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh}
        found += fresh
    return found


def _stat(pid: int) -> list[str]:
    """The fields of a process behind its name, which stands in brackets and may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["0"] * 15
