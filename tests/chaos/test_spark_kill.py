"""kill -9 of the Spark driver at every failpoint of the apply path: the tables equal the source.

A JVM start is dear, so each scenario is one life of a mirror: killed at one failpoint after
another, each time with new changes in between, and brought to the end by the last driver. By
default one life meets the four most dangerous places; `make chaos` kills at every failpoint with
every seed.
"""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import pytest

from tests.chaos.failpoints import failpoints
from tests.chaos.scenario import Kill, Nursery
from tests.chaos.spark_scenario import PATIENCE_S, Mirrored, mirrored

pytestmark = [pytest.mark.chaos, pytest.mark.spark, pytest.mark.timeout(1800)]

# In the order in which a table's life allows them; the seed shuffles those in the middle.
FIRST = (
    "spark.table.before_create",
    "spark.table.after_create",
    "spark.table.before_fill",
    "spark.table.after_fill",
)
MIDDLE = (
    "spark.table.before_merge",
    "spark.table.after_merge",
    "spark.table.after_property",
    "spark.batch.begin",
    "spark.batch.end",
)
LAST = ("spark.table.before_alter", "spark.source.before_commit")
# Of the append-only Parquet log, which has no tables to mirror.
ELSEWHERE = {"spark.table.before_write"}
TWICE = {"spark.batch.begin", "spark.batch.end"}


FULL = os.environ.get("HEADWATER_CHAOS") == "full"
SEEDS = (1, 2, 3) if FULL else (1,)
# Around the commits: a new table is filled, an old one merged, and the batch is not yet over.
SHORT = (
    "spark.table.before_create",
    "spark.table.after_fill",
    "spark.table.before_merge",
    "spark.batch.end",
)


def test_every_spark_failpoint_is_killed_at_when_the_code_names_it() -> None:
    assert set(failpoints("spark")) == {*FIRST, *MIDDLE, *LAST, *ELSEWHERE}
    assert {*FIRST, *MIDDLE, *LAST}.issuperset(SHORT)


def kills_for(seed: int) -> list[Kill]:
    chooser = random.Random(seed)
    middle = chooser.sample(MIDDLE, len(MIDDLE))
    hits = {name: chooser.randint(1, 2 if name in TWICE else 3) for name in (*FIRST, *middle)}
    wanted = (*FIRST, *middle, *LAST)
    if not FULL:
        wanted = SHORT
    return [Kill(name, hits.get(name, 1)) for name in wanted]


@pytest.mark.parametrize("seed", SEEDS)
def test_delta_tables_equal_the_source_when_drivers_are_killed(
    seed: int, workers: Nursery, arena: Path
) -> None:
    with mirrored(workers, arena, seed) as mirror:
        for kill in kills_for(seed):
            if kill.failpoint == "spark.table.before_alter":
                mirror.workload.alter()
            mirror.advance()
            mirror.kill(kill)
        mirror.advance()
        mirror.run_to_the_end()
        assert mirror.differences() == []


def _outrun(mirror: Mirrored, plant: str) -> list[str]:
    """A driver is frozen before its MERGE, its successor overtakes it, then it wakes up."""
    mirror.advance()
    mirror.run_to_the_end(plant=plant)
    mirror.workload.rewrite()
    mirror.capture()
    with mirror.driver("spark.table.before_merge=sleep:3", plant=plant) as zombie:
        mirror.wait_for(zombie, "spark.table.before_merge")
        os.kill(zombie.pid, signal.SIGSTOP)
        mirror.workload.rewrite()
        mirror.capture()
        mirror.run_to_the_end(plant=plant)
        assert mirror.differences() == []
        os.kill(zombie.pid, signal.SIGCONT)
        zombie.wait(PATIENCE_S)
    mirror.run_to_the_end(plant=plant)
    return mirror.differences()


# Eight more drivers, for what tests/spark/test_guard.py shows within one session.
if FULL:

    def test_tables_stand_when_a_frozen_driver_wakes_after_its_successor(
        workers: Nursery, arena: Path
    ) -> None:
        with mirrored(workers, arena, 1) as mirror:
            assert _outrun(mirror, "") == []

    def test_suite_reports_a_violation_when_the_merge_has_no_sequence_guard(
        workers: Nursery, arena: Path
    ) -> None:
        with mirrored(workers, arena, 1) as mirror:
            assert _outrun(mirror, "unguarded_merge") != []
