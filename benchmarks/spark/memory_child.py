"""One pipeline in a process of its own: `python -m benchmarks.spark.memory_child NAME FOLDER`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.spark.applying import CHANGES, ByHand
from benchmarks.spark.peaks import watched
from headwater.app.spark import TableJob, spark_session


def _prepare_changes(spark: SparkSession, folder: Path) -> None:
    """The tables with their first rows."""
    for name in ("hand", "again"):
        ByHand(folder, name).create(spark)
        _by_hand(name)(spark, folder)
    _ours(spark, folder)


def _ours(spark: SparkSession, folder: Path) -> None:
    TableJob(folder / "events.hwlog", str(folder / "ours"), max_events=CHANGES).run_once(spark)


def _by_hand(name: str) -> Callable[[SparkSession, Path], None]:
    return lambda spark, folder: ByHand(folder, name).apply(spark)


def _prepare_load(spark: SparkSession, folder: Path) -> None:
    """The rows of the snapshot in Parquet, for the plain copy."""
    _load(spark, folder)
    rows = spark.read.format("delta").load(f"{_newest(folder)}/customers")
    rows.drop("_headwater_sequence").write.parquet(str(folder / "load.parquet"))


def _load(spark: SparkSession, folder: Path) -> None:
    target = _fresh(folder)
    TableJob(folder / "load.hwlog", str(target), consumer=target.name).run_once(spark)


def _copy(spark: SparkSession, folder: Path) -> None:
    rows = spark.read.parquet(str(folder / "load.parquet"))
    rows.write.format("delta").save(str(_fresh(folder)))


def _fresh(folder: Path) -> Path:
    return folder / f"table-{len(list(folder.glob('table-*')))}"


def _newest(folder: Path) -> Path:
    return folder / f"table-{len(list(folder.glob('table-*'))) - 1}"


WORK: dict[str, Callable[[SparkSession, Path], None]] = {
    "changes-prepare": _prepare_changes,
    "changes-ours": _ours,
    "changes-hand": _by_hand("hand"),
    "changes-again": _by_hand("again"),
    "load-prepare": _prepare_load,
    "load-ours": _load,
    "load-copy": _copy,
}

if __name__ == "__main__":
    with spark_session() as session, watched(session) as peaks:
        WORK[sys.argv[1]](session, Path(sys.argv[2]))
    print(json.dumps(asdict(peaks)))
