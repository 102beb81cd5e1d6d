"""The most memory that a session's processes ever held: Python driver, JVM and Python workers."""

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
    gateway = spark.sparkContext._gateway  # noqa: SLF001 - PySpark does not tell it otherwise
    jvm: int = gateway.proc.pid  # type: ignore[union-attr]
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
    parents = dict(filter(None, map(_parent, Path("/proc").glob("[0-9]*"))))
    found: list[int] = []
    fresh = {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh}
        found += fresh
    return found


def _parent(process: Path) -> tuple[int, int] | None:
    try:
        # The name stands in brackets and may hold anything; the parent is the second behind it.
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(process.name), int(fields[1])
