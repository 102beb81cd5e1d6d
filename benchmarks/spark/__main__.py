"""make bench NAME=spark, or a part of it: make bench NAME="spark applying".

The parts that need a session of their own, `native` and `memory`, are recorded by themselves.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness import Bench, timed
from benchmarks.rows import SOURCE_UID, customers
from benchmarks.spark.applying import applying
from benchmarks.spark.load import initial_load
from benchmarks.spark.memory import memory
from benchmarks.spark.native import native
from headwater.app.spark import TableJob, spark_session
from headwater.contract import SourceBatch, SourceIdentity
from headwater.event import Position
from headwater.log import SqliteLog
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig

PER_COMMIT, COMMITS = 5000, 200
EVENTS = PER_COMMIT * COMMITS
CHANGES = 100_000


def fill(path: Path) -> None:
    """A log of a million events; the rows repeat, the sequence numbers do not."""
    writer = SqliteLog(path).writer(SourceIdentity("sqlite", SOURCE_UID))
    batches = [customers(number * PER_COMMIT, PER_COMMIT) for number in range(10)]
    for commit in range(COMMITS):
        writer.append(SourceBatch(batches[commit % 10], Position({"change": commit})))
    writer.close()


def noop(frame: DataFrame) -> None:
    """Read every column of every row and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()


def read_rates(bench: Bench, spark: SparkSession, folder: Path) -> None:
    """The log against Parquet, into nothing and into Delta."""
    log, parquet = str(folder / "events.hwlog"), str(folder / "events.parquet")
    fill(Path(log))
    spark.read.format("headwater").load(log).write.parquet(parquet)

    def to_delta(frame: DataFrame) -> None:
        frame.write.format("delta").mode("overwrite").save(str(folder / "delta"))

    ours = spark.read.format("headwater").load(log)
    theirs = spark.read.parquet(parquet)
    ratio = bench.compare(
        "format('headwater') into noop",
        lambda: timed(EVENTS, lambda: noop(ours)),
        ("Spark's Parquet reader", lambda: timed(EVENTS, lambda: noop(theirs))),
    )
    bench.bar("format('headwater') into noop against Parquet", ratio, 0.4)
    rate = sorted(bench.comparisons[-1].rates)[len(bench.comparisons[-1].rates) // 2]
    bench.bar("format('headwater') into noop, events/s", rate, 300_000)
    bench.compare(
        "format('headwater') into Delta",
        lambda: timed(EVENTS, lambda: to_delta(ours)),
        ("Parquet into Delta", lambda: timed(EVENTS, lambda: to_delta(theirs))),
        rounds=3,
    )


def end_to_end(bench: Bench, spark: SparkSession, folder: Path) -> None:
    """Committed SQLite changes to a mirrored Delta table: capture, log, Spark, MERGE."""
    path = folder / "shop.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, balance REAL)")
    db.commit()
    source = SqliteSource(SqliteSourceConfig(path=path))
    writer = SqliteLog(folder / "shop.hwlog").writer(source.identity)
    source.open(None)
    job = TableJob(folder / "shop.hwlog", str(folder / "lake"), max_events=None)
    round_number = 0

    def go() -> float:
        nonlocal round_number
        round_number += 1
        with db:
            db.executemany(
                "INSERT INTO customers VALUES (?1, ?2, ?3)"
                " ON CONFLICT (id) DO UPDATE SET name = ?2, balance = ?3",
                ((number, f"{round_number}:{number}", number / 7) for number in range(CHANGES)),
            )

        def capture_and_apply() -> None:
            while (batch := source.read(5000, 0.0)) is not None:
                writer.append(batch)
                source.confirm(batch.position)
            job.run_once(spark)

        return timed(CHANGES, capture_and_apply)

    bench.rate("SQLite commit to Delta MERGE, 100 k changes", go, rounds=3)
    source.close()
    writer.close()


PARTS = {
    "read": read_rates,
    "end_to_end": end_to_end,
    "applying": applying,
    "load": initial_load,
}


APART = {
    "native": (native, "events/CPU s"),
    "memory": (memory, "MB"),
}


def main(chosen: list[str]) -> int:
    """The parts that are named, else all; each has a folder of its own."""
    names, ended = chosen or [*PARTS, *APART], []
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        places = {name: Path(folder, name) for name in names}
        for place in places.values():
            place.mkdir()
        together = [name for name in names if name in PARTS]
        if together:
            bench = Bench("spark")
            with spark_session() as spark:
                for name in together:
                    PARTS[name](bench, spark, places[name])
            ended.append(bench.finish())
        for name in names:
            if name not in together:
                part, unit = APART[name]
                bench = Bench(f"spark-{name}", unit)
                part(bench, places[name])
                ended.append(bench.finish())
    return max(ended)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
