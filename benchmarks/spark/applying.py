"""Changes into a Delta table: ours, a pipeline as people write it by hand, and delta-rs."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from benchmarks.harness import Bench, in_turn
from benchmarks.spark.workload import CUSTOMERS, SPARK_DDL, Workload, plain
from headwater.app.spark import TableJob
from headwater.contract import SourceBatch, SourceIdentity
from headwater.event import EventBatch, Position
from headwater.log import SqliteLog

ROWS, CHANGES, BATCHES, ROUNDS = 1_000_000, 100_000, 5, 3
_PART = 20_000
NAMES = [column.name for column in CUSTOMERS.columns]


class Ours:
    """The log through TableJob, with every guarantee on."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "events.hwlog"
        self.target = folder / "ours"
        self._writer = SqliteLog(self.log).writer(SourceIdentity("sqlite", "benchmark"))
        self.job = TableJob(self.log, str(self.target), max_events=CHANGES)
        self._commit = 0

    def hear(self, changes: list[EventBatch]) -> None:
        for batch in changes:
            self._commit += 1
            position = Position({"change": self._commit})
            self._writer.append(SourceBatch(batch, position, (CUSTOMERS,)))

    def apply(self, spark: SparkSession) -> None:
        self.job.run_once(spark)

    def close(self) -> None:
        self._writer.close()


class ByHand:
    """readStream(parquet), from_json, a window and a MERGE: no order across batches, no DDL."""

    def __init__(self, folder: Path, name: str) -> None:
        self.input = folder / f"{name}-input"
        self.input.mkdir(exist_ok=True)
        self.target = folder / name
        self.checkpoint = folder / f"{name}-checkpoint"

    def hear(self, changes: pa.Table, number: int) -> None:
        pq.write_table(changes, self.input / f"{number:04}.parquet")

    def create(self, spark: SparkSession) -> None:
        spark.sql(
            f"CREATE TABLE delta.`{self.target}` ({SPARK_DDL}) USING delta"
            " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )

    def apply(self, spark: SparkSession) -> None:
        stream = spark.readStream.schema("sequence bigint, op string, before string, after string")
        query = (
            stream.option("maxFilesPerTrigger", 1)
            .parquet(str(self.input))
            .writeStream.option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .foreachBatch(self._merge)
            .start()
        )
        query.awaitTermination()

    def _merge(self, frame: DataFrame, batch_id: int) -> None:
        del batch_id
        image = f.coalesce("after", "before")
        rows = frame.select("sequence", "op", f.from_json(image, SPARK_DDL).alias("row"))
        newest = Window.partitionBy("row.id").orderBy(f.col("sequence").desc())
        last = rows.withColumn("place", f.row_number().over(newest)).where("place = 1")
        last.select("op", "row.*").createOrReplaceTempView("changes")
        frame.sparkSession.sql(
            f"MERGE INTO delta.`{self.target}` t USING changes s ON t.id = s.id"
            " WHEN MATCHED AND s.op = 'delete' THEN DELETE"
            " WHEN MATCHED THEN UPDATE SET *"
            " WHEN NOT MATCHED AND s.op <> 'delete' THEN INSERT *"
        )


class DeltaRs:
    """deltalake's own merge, in one process without Spark; the newest change per key by Arrow."""

    def __init__(self, folder: Path, name: str) -> None:
        self.target = str(folder / name)

    def load(self, rows: pa.Table) -> None:
        from deltalake import write_deltalake

        write_deltalake(self.target, rows)

    def apply_all(self, batches: list[pa.Table]) -> None:
        for each in batches:
            self.apply(each)

    def apply(self, changes: pa.Table) -> None:
        from deltalake import DeltaTable

        image = pc.coalesce(changes.column("after"), changes.column("before"))
        rows = _parsed(image).append_column("op", changes.column("op"))
        rows = rows.append_column("sequence", changes.column("sequence"))
        newest = rows.group_by("id").aggregate([("sequence", "max")])
        kept = rows.filter(pc.is_in(rows.column("sequence"), newest.column("sequence_max")))
        values = {name: f"s.{name}" for name in NAMES}
        (
            DeltaTable(self.target)
            .merge(kept.drop(["sequence"]), "t.id = s.id", source_alias="s", target_alias="t")
            .when_matched_delete("s.op = 'delete'")
            .when_matched_update(values)
            .when_not_matched_insert(values, "s.op <> 'delete'")
            .execute()
        )


def _parsed(images: pa.ChunkedArray) -> pa.Table:
    lines = "\n".join(images.to_pylist()).encode()
    options = pyarrow.json.ReadOptions(block_size=len(lines) + 1)
    return pyarrow.json.read_json(pa.BufferReader(lines), read_options=options)


def applying(bench: Bench, spark: SparkSession, folder: Path) -> None:
    """Batches of changes into a table of a million rows, every pipeline the same ones in turn."""
    workload = Workload(ROWS)
    ours, hand, again = Ours(folder), ByHand(folder, "hand"), ByHand(folder, "again")
    rust, rust_again = DeltaRs(folder, "delta-rs"), DeltaRs(folder, "delta-rs-again")
    first = [workload.load(start, _PART) for start in range(0, ROWS, _PART)]
    ours.hear(first)
    initial = pa.concat_tables([plain(batch, 0) for batch in first])
    for each in (hand, again):
        each.create(spark)
        each.hear(initial, 0)
    ours.apply(spark)
    hand.apply(spark)
    again.apply(spark)
    for each_rust in (rust, rust_again):
        each_rust.load(_parsed(initial.column("after")))
    samples: dict[str, list[float]] = defaultdict(list)
    for turn in range(ROUNDS + 1):
        told: list[pa.Table] = []
        for number in range(BATCHES):
            parts = [workload.changes(_PART) for _ in range(CHANGES // _PART)]
            begin = workload.told - CHANGES
            told.append(
                pa.concat_tables(
                    [plain(part, begin + place * _PART) for place, part in enumerate(parts)]
                )
            )
            ours.hear(parts)
            for each in (hand, again):
                each.hear(told[-1], turn * BATCHES + number + 1)
        runs: list[tuple[str, Callable[[], None]]] = [
            ("ours", partial(ours.apply, spark)),
            ("hand", partial(hand.apply, spark)),
            ("again", partial(again.apply, spark)),
            ("delta-rs", partial(rust.apply_all, told)),
            ("delta-rs again", partial(rust_again.apply_all, told)),
        ]
        for name, work in in_turn(runs, turn):
            start = time.perf_counter()
            work()
            if turn:  # the first round pays for what is compiled and cached
                samples[name].append(BATCHES * CHANGES / (time.perf_counter() - start))
    _agree(spark, ours, hand)
    name = "changes into Delta, 100 k a batch, 1 M rows"
    ratio = bench.add(name, samples["ours"], ("by hand", samples["hand"], samples["again"]))
    theirs = ("delta-rs", samples["delta-rs"], samples["delta-rs again"])
    bench.add(name, samples["ours"], theirs)
    bench.bar("changes into Delta against a pipeline by hand", ratio, 1.0)
    bench.bar("changes into Delta, changes/s", statistics.median(samples["ours"]), 30_000)
    _overhead(bench, spark, (ours, hand, again), workload)
    ours.close()


def _agree(spark: SparkSession, ours: Ours, hand: ByHand) -> None:
    """A benchmark of wrong tables would be none."""
    mine = spark.read.format("delta").load(str(ours.target / "customers")).select(*NAMES)
    theirs = spark.read.format("delta").load(str(hand.target)).select(*NAMES)
    if mine.exceptAll(theirs).count() or theirs.exceptAll(mine).count():
        raise AssertionError("the tables differ")


def _overhead(
    bench: Bench, spark: SparkSession, kept: tuple[Ours, ByHand, ByHand], workload: Workload
) -> None:
    """A run with a single change: what a stream costs before it does anything."""
    ours, *by_hand = kept
    rates: list[list[float]] = [[] for _ in kept]
    places: list[tuple[int, Ours | ByHand]] = [(0, ours), *enumerate(by_hand, 1)]
    for turn in range(ROUNDS):
        part = workload.changes(1)
        ours.hear([part])
        for each in by_hand:
            each.hear(plain(part, workload.told - 1), (ROUNDS + 1) * BATCHES + 1 + turn)
        for place, pipeline in in_turn(places, turn):
            start = time.perf_counter()
            pipeline.apply(spark)
            rates[place].append(1 / (time.perf_counter() - start))
    mine, theirs, control = rates
    bench.add("runs with one change", mine, ("by hand", theirs, control))
