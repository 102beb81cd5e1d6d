"""The most memory that a session's processes ever held: Python driver, JVM and Python workers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

_EVERY_S = 0.1


@dataclass(slots=True)
class Peaks:
    """In MB. Workers are forks that share pages, so their sum is more than they really hold."""

    driver: int = 0
    jvm: int = 0
    workers: int = 0

    def look(self, jvm: int) -> None:
        """The kernel keeps a process's own peak; only what may end before we look is in a hurry.

        Not what getrusage says: a process inherits that figure from the one that started it.
        """
        self.driver = max(self.driver, _peak_mb(os.getpid()))
        self.jvm = max(self.jvm, _peak_mb(jvm))
        self.workers = max(self.workers, sum(map(_peak_mb, _below(jvm))))


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


def _peak_mb(pid: int) -> int:
    """VmHWM; 0 of a process that is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(next(found, 0)) // 1024


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
