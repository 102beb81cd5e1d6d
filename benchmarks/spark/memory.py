"""What Spark's processes hold at most while tables are kept: ours against a pipeline by hand.

Each run is a session in a process of its own; the process that makes the changes is none of them.
A JVM takes what it is allowed before it collects, so its figure says more of its limit (2 GB of
heap for all) than of what it needs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from benchmarks.harness import Bench
from benchmarks.spark import applying, load
from benchmarks.spark.applying import ByHand, Ours
from benchmarks.spark.workload import Workload, plain

QUICK = os.environ.get("HEADWATER_BENCH_QUICK") == "1"
SMALLER = 20 if QUICK else 1
ROUNDS = 1 if QUICK else 2
_PART = 5_000

Sample = dict[str, int]


def memory(bench: Bench, folder: Path) -> None:
    """Changes into a table of a million rows, and a first load of four million."""
    _changes(bench, folder)
    _load(bench, folder)


def _changes(bench: Bench, folder: Path) -> None:
    rows, changes = applying.ROWS // SMALLER, applying.CHANGES // SMALLER
    workload = Workload(rows)
    ours, hands = Ours(folder), [ByHand(folder, name) for name in ("hand", "again")]

    def hear(number: int, *, first: bool) -> None:
        """The next batch, or all first rows, to every pipeline."""
        begin = workload.told
        if first:
            parts = [workload.load(start, _PART) for start in range(0, rows, _PART)]
        else:
            parts = [workload.changes(_PART) for _ in range(changes // _PART)]
        ours.hear(parts)
        told = [plain(part, begin + place * _PART) for place, part in enumerate(parts)]
        for each in hands:
            each.hear(pa.concat_tables(told), number)

    hear(0, first=True)
    _run("changes-prepare", folder)
    samples: dict[str, list[Sample]] = {"ours": [], "hand": [], "again": []}
    for turn in range(ROUNDS):
        for number in range(applying.BATCHES):
            hear(1 + turn * applying.BATCHES + number, first=False)
        for name, found in samples.items():
            found.append(_run(f"changes-{name}", folder))
    ours.close()
    peer = ("by hand", samples["hand"], samples["again"])
    _told(bench, f"changes into Delta, {rows:,} rows", samples["ours"], peer)


def _load(bench: Bench, folder: Path) -> None:
    rows = load.ROWS // SMALLER
    load.fill_snapshot(folder / "load.hwlog", rows)
    _run("load-prepare", folder)
    samples: dict[str, list[Sample]] = {"ours": [], "copy": [], "again": []}
    for _ in range(ROUNDS):
        for name, found in samples.items():
            found.append(_run("load-copy" if name == "again" else f"load-{name}", folder))
    peer = ("Parquet copied into Delta", samples["copy"], samples["again"])
    _told(bench, f"first load, {rows:,} rows", samples["ours"], peer)


def _run(work: str, folder: Path) -> Sample:
    command = [sys.executable, "-m", "benchmarks.spark.memory_child", work, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Sample = json.loads(done.stdout)
    print(f"  {work}: {found}")
    return found


def _told(
    bench: Bench, name: str, ours: list[Sample], peer: tuple[str, list[Sample], list[Sample]]
) -> None:
    label, theirs, control = peer
    for role, title in (("driver", "driver's Python"), ("jvm", "JVM"), (None, "all processes")):
        bench.add(
            f"{name}: {title}",
            _values(ours, role),
            (label, _values(theirs, role), _values(control, role)),
        )
    bench.note(f"{name}: Python workers", _values(ours, "workers"))
    bench.note(f"{name}: Python workers, shared pages each time", _values(ours, "apart"))
    python = [float(each["driver"] + each["workers"]) for each in ours]
    bench.bar(f"1,500 MB over Python's processes, {name}", 1500 / statistics.median(python), 1.0)


def _values(samples: list[Sample], role: str | None) -> list[float]:
    roles = ("driver", "jvm", "workers") if role is None else (role,)
    return [float(sum(each[name] for name in roles)) for each in samples]
