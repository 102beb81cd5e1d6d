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
from tests.chaos.scenario import Kill, Nursery
from tests.chaos.spark_lives import Lives
from tests.chaos.spark_places import PLACES, kills

pytestmark = [pytest.mark.chaos, pytest.mark.spark, pytest.mark.timeout(1800)]

SEEDS = (1, 2, 3) if FULL else (1,)
DELTA, PARQUET = PLACES["delta"], PLACES["parquet"]
MERGES = ("spark.table.before_merge", "spark.table.after_merge")
# The second driver finds one batch half done, which has two MERGEs at the most, and one of four.
SHORT = (
    Kill("spark.table.after_fill"),
    Kill("spark.table.after_merge", 3),
    Kill("spark.keep.after_compact"),
)


def test_every_spark_failpoint_is_killed_at_when_the_code_names_it() -> None:
    every = set[str]().union(*(each.every() for each in PLACES.values()))
    assert set(failpoints("spark")) == every
    own = failpoints("spark/table/iceberg")
    assert PLACES["iceberg"].every().issuperset(own)


@pytest.mark.parametrize("seed", SEEDS)
def test_loaded_tables_are_right_when_drivers_are_killed(
    spark: SparkSession, workers: Nursery, arena: Path, seed: int
) -> None:
    """By default where a table has just come whole."""
    if FULL:
        Lives("delta", spark, arena, seed).of_loaded_tables(workers, DELTA.load)
    else:
        few = Lives("delta", spark, arena, seed, ("item",), ("mirror", "scd2"))
        few.of_loaded_tables(workers, ["spark.load.after_switch"])


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_every_mode_are_right_when_drivers_are_killed_among_parts_of_rows(
    spark: SparkSession, arena: Path, seed: int
) -> None:
    """New ones were filled; of standing ones some have taken a batch; one was compacted."""
    if FULL:
        chooser = random.Random(seed)
        places = ["spark.table.after_fill", *MERGES, *MERGES, "spark.keep.after_compact"]
        Lives("delta", spark, arena, seed).of_parts_of_rows(kills(places, chooser))
    else:
        few = Lives("delta", spark, arena, seed, ("orders",))
        few.of_parts_of_rows(SHORT)


@pytest.mark.parametrize("seed", SEEDS)
def test_appended_changes_are_right_when_drivers_are_killed(
    spark: SparkSession, arena: Path, seed: int
) -> None:
    if FULL:
        chooser = random.Random(seed)
        places = [*chooser.sample(PARQUET.middle, len(PARQUET.middle)), *PARQUET.last]
        life = Lives("parquet", spark, arena, seed)
        life.of_parts_of_rows(kills(places, chooser), standing=True)
    else:
        few = Lives("parquet", spark, arena, seed, ("orders",))
        few.of_parts_of_rows([Kill("spark.parquet.before_mark")])


# Dozens of drivers.
if FULL:

    @pytest.mark.parametrize("seed", SEEDS)
    def test_tables_are_right_when_drivers_are_killed_anywhere(
        spark: SparkSession, workers: Nursery, arena: Path, seed: int
    ) -> None:
        Lives("delta", spark, arena, seed).of_new_tables(workers)
