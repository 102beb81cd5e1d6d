"""kill -9 of the Spark driver at every failpoint of the apply path: the tables are right after it.

Tables of all four modes are kept from one stream and compared with the log, event by event; mirrors
also with the source. By default the most telling places are met; `make chaos` kills at every
failpoint with every seed. Iceberg's drivers are killed in tests/spark/iceberg.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.chaos.failpoints import FULL, failpoints
from tests.chaos.scenario import Nursery
from tests.chaos.spark_lives import Lives
from tests.chaos.spark_places import PLACES, kills

pytestmark = [pytest.mark.chaos, pytest.mark.spark, pytest.mark.timeout(1800)]

SEEDS = (1, 2, 3) if FULL else (1,)
DELTA, PARQUET = PLACES["delta"], PLACES["parquet"]


def test_every_spark_failpoint_is_killed_at_when_the_code_names_it() -> None:
    every = set[str]().union(*(each.every() for each in PLACES.values()))
    assert set(failpoints("spark")) == every
    own = failpoints("spark/table/iceberg")
    assert PLACES["iceberg"].every().issuperset(own)


@pytest.mark.parametrize("seed", SEEDS)
def test_loaded_tables_are_right_when_drivers_are_killed(
    spark: SparkSession, workers: Nursery, arena: Path, seed: int
) -> None:
    """Around the commits of tables that come whole, and of rows that are replaced."""
    load = DELTA.load if FULL else ("spark.load.after_switch",)
    Lives("delta", spark, arena, seed).of_loaded_tables(workers, load, ["spark.table.rows_written"])


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_every_mode_are_right_when_drivers_are_killed_among_parts_of_rows(
    spark: SparkSession, arena: Path, seed: int
) -> None:
    """New ones were filled; some have taken a batch and others not; one was compacted."""
    chooser = random.Random(seed)
    merged = ["spark.table.after_merge"]
    if FULL:
        merged = ["spark.table.before_merge", *merged] * 3
    Lives("delta", spark, arena, seed).of_parts_of_rows(
        kills(["spark.table.after_fill"], chooser),
        kills([*merged, "spark.keep.after_compact"], chooser),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_appended_changes_are_right_when_drivers_are_killed(
    spark: SparkSession, arena: Path, seed: int
) -> None:
    chooser = random.Random(seed)
    places = chooser.sample(PARQUET.middle, len(PARQUET.middle)) if FULL else ()
    Lives("parquet", spark, arena, seed).of_parts_of_rows(
        kills(["spark.table.before_write"] if FULL else [], chooser),
        kills([*places, *PARQUET.last] if FULL else ["spark.parquet.before_mark"], chooser),
    )


# Dozens of drivers.
if FULL:

    @pytest.mark.parametrize("seed", SEEDS)
    def test_tables_are_right_when_drivers_are_killed_anywhere(
        spark: SparkSession, workers: Nursery, arena: Path, seed: int
    ) -> None:
        Lives("delta", spark, arena, seed).of_new_tables(workers)
