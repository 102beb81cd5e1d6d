"""The kill tests of Spark's drivers have teeth: a bug in the tables of one mode shows in that mode.

And a driver that was frozen, not killed, wakes after its successor has gone on. Each test starts
drivers for what tests/spark/test_guard.py shows within one session, so `make chaos` runs them.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.spark.modes import MODES
from tests.chaos.failpoints import FULL
from tests.chaos.scenario import Nursery
from tests.chaos.spark_lives import Lives
from tests.chaos.spark_scenario import PATIENCE_S, mirrored

pytestmark = [pytest.mark.chaos, pytest.mark.spark, pytest.mark.timeout(1800)]

BUGS = tuple(f"position_before_rows@{mode}" for mode in MODES)


def outrun(session: SparkSession, workers: Nursery, arena: Path, plant: str, at: str) -> list[str]:
    """A driver is frozen before its commit, its successor overtakes it, then it wakes up."""
    with mirrored(workers, arena, 1) as mirror:
        mirror.modes = ("mirror",)
        mirror.advance()
        mirror.run_to_the_end(plant)
        mirror.workload.rewrite()
        mirror.capture()
        with mirror.driver(f"{at}=sleep:3", plant) as zombie:
            mirror.wait_for(zombie, at)
            os.kill(zombie.pid, signal.SIGSTOP)
            mirror.workload.rewrite()
            mirror.capture()
            mirror.run_to_the_end(plant)
            assert list(mirror.from_the_source(session)) == []
            os.kill(zombie.pid, signal.SIGCONT)
            zombie.wait(PATIENCE_S)
        mirror.run_to_the_end(plant)
        return list(mirror.from_the_source(session))


if FULL:

    @pytest.mark.parametrize("plant", BUGS)
    def test_suite_reports_the_mode_when_its_tables_have_a_bug(
        spark: SparkSession, arena: Path, plant: str
    ) -> None:
        _, _, mode = plant.partition("@")
        found = Lives("delta", spark, arena, tables=("orders",)).with_a_bug(plant)
        assert found, f"{plant} went unnoticed"
        assert all(f"@{mode}:" in each for each in found), found

    @pytest.mark.parametrize("at", ["spark.table.before_merge", "spark.table.rows_written"])
    def test_tables_stand_when_a_frozen_driver_wakes_after_its_successor(
        spark: SparkSession, workers: Nursery, arena: Path, at: str
    ) -> None:
        assert outrun(spark, workers, arena, "", at) == []

    def test_suite_reports_a_violation_when_the_merge_has_no_sequence_guard(
        spark: SparkSession, workers: Nursery, arena: Path
    ) -> None:
        plant, at = "unguarded_merge", "spark.table.before_merge"
        assert outrun(spark, workers, arena, plant, at) != []
