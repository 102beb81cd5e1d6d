"""kill -9 of a driver that writes Iceberg tables of every mode, at every failpoint that it passes.

As tests/chaos/test_spark_kill.py for Delta; `make chaos` runs all of it.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.chaos.failpoints import FULL
from tests.chaos.scenario import Kill, Nursery
from tests.chaos.spark_lives import Lives
from tests.chaos.spark_places import PLACES, kills
from tests.chaos.test_spark_kill import SEEDS
from tests.chaos.test_spark_teeth import BUGS

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.spark,
    pytest.mark.iceberg,
    pytest.mark.timeout(1800),
]

UPKEEP = ("spark.keep.before_compact", "spark.keep.after_compact")


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_every_mode_are_right_when_drivers_are_killed_among_parts_of_rows(
    spark: SparkSession, arena: Path, seed: int
) -> None:
    """By default between the tables of a batch, one of which is written and not yet published."""
    if FULL:
        chooser, middle = random.Random(seed), PLACES["iceberg"].middle
        killed = kills([*chooser.sample(middle, len(middle)), *UPKEEP], chooser)
        Lives("iceberg", spark, arena, seed).of_parts_of_rows(killed, standing=True)
    else:
        few = Lives("iceberg", spark, arena, seed, ("orders",))
        few.of_parts_of_rows([Kill("spark.table.after_merge", 3)], standing=True)


if FULL:

    @pytest.mark.parametrize("seed", SEEDS)
    def test_loaded_tables_are_right_when_drivers_are_killed(
        spark: SparkSession,
        workers: Nursery,
        arena: Path,
        seed: int,
    ) -> None:
        Lives("iceberg", spark, arena, seed).of_loaded_tables(workers, PLACES["iceberg"].load)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_tables_are_right_when_drivers_are_killed_anywhere(
        spark: SparkSession,
        workers: Nursery,
        arena: Path,
        seed: int,
    ) -> None:
        Lives("iceberg", spark, arena, seed).of_new_tables(workers)

    @pytest.mark.parametrize("plant", BUGS)
    def test_suite_reports_the_mode_when_its_tables_have_a_bug(
        spark: SparkSession,
        arena: Path,
        plant: str,
    ) -> None:
        _, _, mode = plant.partition("@")
        found = Lives("iceberg", spark, arena, tables=("orders",)).with_a_bug(plant)
        assert found, f"{plant} went unnoticed"
        assert all(f"@{mode}:" in each for each in found), found
