"""Our Avro records, read and written by our functions and by Spark's own from_avro and to_avro.

Both read the same records from Parquet and write columns into nothing. What comes out is compared
row by row before anything is timed. Our function gives keys too; here it is asked for values alone,
as to_avro gives them. The question is what the work costs, so the figures are events per second of
CPU time, of the JVM and its Python workers together: a busy machine changes them less.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness import Bench
from benchmarks.spark import native_avro
from benchmarks.spark.orders import ORDERS, write_orders
from benchmarks.spark.peaks import cpu_s
from headwater.app.format_recipe import FormatRecipe
from headwater.app.spark import decode, kafka_events, kafka_records, register
from headwater.contract import Format
from headwater.event import EventBatch
from headwater.pipelines import typed
from headwater.spark.functions import formats
from headwater.spark.session import end_session, local_session

SIZES = {20_000: 3, 200_000: 3}  # with their rounds
QUICK = os.environ.get("HEADWATER_BENCH_QUICK") == "1"
_TABLE = str(ORDERS.table)

Work = Callable[[], DataFrame]


@dataclass(frozen=True, slots=True)
class _Values:
    """A format without its keys: records alone, as to_avro gives them."""

    form: Format

    @property
    def name(self) -> str:
        return self.form.name

    @property
    def content_type(self) -> str:
        return self.form.content_type

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        return self.form.encode(batch)

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        return self.form.decode(records)


@dataclass(frozen=True, slots=True)
class _ValuesOnly:
    recipe: FormatRecipe

    @contextmanager
    def open(self) -> Iterator[Format]:
        with self.recipe.open() as form:
            yield _Values(form)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The same work by us and by Spark."""

    name: str
    ours: Work
    native: Work


def native(bench: Bench, folder: Path) -> None:
    """Each form, read and written, at each size."""
    spark = local_session(formats=(), avro=True)
    try:
        register(spark)
        for size, rounds in ({2_000: 1} if QUICK else SIZES).items():
            place = folder / str(size)
            place.mkdir()
            for pair in _pairs(spark, place, size):
                _compare(bench, spark, pair, (size, rounds))
    finally:
        end_session(spark)


def _compare(bench: Bench, spark: SparkSession, pair: _Pair, times: tuple[int, int]) -> None:
    size, rounds = times
    _agree(pair)
    bench.compare(
        f"{pair.name}, {size:,} events",
        partial(_rate, spark, size, pair.native),
        ("Headwater's function", partial(_rate, spark, size, pair.ours)),
        rounds=rounds,
    )


def _pairs(spark: SparkSession, folder: Path, size: int) -> list[_Pair]:
    log = folder / "orders.hwlog"
    write_orders(log, size)
    read = spark.read.format("headwater").load(str(log))
    events = _stored(spark, read, folder / "events")

    def written(name: str) -> DataFrame:
        recipe = FormatRecipe(name, str(log))
        return formats.encode(events, _ValuesOnly(recipe)).select("value")

    plain = _stored(spark, written("headwater-avro"), folder / "plain")
    rows = _stored(spark, written("headwater-avro-typed"), folder / "rows")
    carried = _stored(spark, kafka_records(events, log, "headwater-avro"), folder / "carried")
    return [
        _Pair(
            "from_avro, headwater-avro",
            lambda: decode(plain, "headwater-avro"),
            lambda: decode(plain, "headwater-avro", native=True),
        ),
        _Pair(
            "from_avro, headwater-avro with a topic's headers",
            lambda: kafka_events(carried, "headwater-avro"),
            lambda: kafka_events(carried, "headwater-avro", native=True),
        ),
        _Pair(
            "from_avro, headwater-avro-typed to typed rows",
            lambda: typed(decode(rows, "headwater-avro-typed", log=log), _TABLE, log=log),
            lambda: native_avro.decode_typed(rows, ORDERS),
        ),
        _Pair(
            "to_avro, headwater-avro",
            lambda: written("headwater-avro"),
            lambda: native_avro.encode(events),
        ),
        _Pair(
            "to_avro, headwater-avro-typed",
            lambda: written("headwater-avro-typed"),
            lambda: native_avro.encode_typed(events, ORDERS),
        ),
    ]


def _stored(spark: SparkSession, frame: DataFrame, path: Path) -> DataFrame:
    """The frame from two files of Parquet: a task for each core."""
    frame.repartition(2).write.parquet(str(path))
    return spark.read.parquet(str(path))


def _rate(spark: SparkSession, size: int, work: Work) -> float:
    begun = cpu_s(spark)
    work().write.format("noop").mode("overwrite").save()
    return size / (cpu_s(spark) - begun)


def _agree(pair: _Pair) -> None:
    """A benchmark of other rows would be none."""
    ours, theirs = pair.ours(), pair.native()
    if ours.dtypes != theirs.dtypes:
        raise AssertionError(f"{pair.name}: {ours.dtypes} is not {theirs.dtypes}")
    if ours.exceptAll(theirs).count() or theirs.exceptAll(ours).count():
        raise AssertionError(f"{pair.name}: the rows differ")
