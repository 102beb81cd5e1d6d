"""kill -9 of the Spark driver at every failpoint of the apply path: the tables equal the source.

A JVM start is dear, so a mirror has a long life: killed at one failpoint after another, each time
with new changes in between, and brought to the end by the last driver. Only where tables are new
does each kill have a mirror of its own: tables that an earlier one left half-made are not new any
more. By default the four most dangerous places are met; `make chaos` kills at every failpoint with
every seed.
"""

from __future__ import annotations

import os
import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.failpoints import FULL, failpoints
from tests.chaos.scenario import Kill, Nursery
from tests.chaos.spark_scenario import PATIENCE_S, Mirrored, mirrored

pytestmark = [pytest.mark.chaos, pytest.mark.spark, pytest.mark.timeout(1800)]

# Of new tables.
FIRST = (
    "spark.table.before_create",
    "spark.table.after_create",
    "spark.table.before_fill",
    "spark.table.after_fill",
)
# Of tables that are loaded, in the order in which one meets them.
LOAD = (
    "spark.load.before_append",
    "spark.load.after_append",
    "spark.load.after_keep",
    "spark.load.closed",
    "spark.load.merged",
    "spark.load.before_switch",
    "spark.load.after_switch",
    "spark.load.cleared",
)
# Of tables that stand; the seed shuffles them.
MIDDLE = (
    "spark.table.before_merge",
    "spark.table.rows_written",
    "spark.table.after_merge",
    "spark.state.before_commit",
    "spark.state.after_commit",
    "spark.batch.begin",
    "spark.batch.end",
)
LAST = (
    "spark.table.before_alter",
    "spark.table.after_alter",
    "spark.keep.before_compact",
    "spark.keep.after_compact",
    "spark.keep.before_expire",
    "spark.source.before_commit",
)
# Of the append-only Parquet log, which has no tables to mirror, and of Iceberg, whose drivers are
# killed in tests/spark/iceberg.
ELSEWHERE = {
    "spark.parquet.before_snapshot",
    "spark.parquet.before_mark",
    "spark.parquet.after_mark",
    "spark.table.before_write",
    "spark.iceberg.before_publish",
    "spark.iceberg.after_publish",
}
TWICE = {"spark.batch.begin", "spark.batch.end"}
# A first rename is two statements: the second is the one after which the table has new names.
AT_THE_SECOND = {"spark.table.after_alter"}
# A batch whose set is published comes again without passing there.
ONCE = {*LAST, "spark.state.before_commit", "spark.state.after_commit"}


SEEDS = (1, 2, 3) if FULL else (1,)
# Around the commits: a new table was filled or loaded, files of an old one are not yet committed.
SHORT = (
    "spark.load.after_switch",
    "spark.table.after_fill",
    "spark.table.rows_written",
)


def test_every_spark_failpoint_is_killed_at_when_the_code_names_it() -> None:
    assert set(failpoints("spark")) == {*FIRST, *LOAD, *MIDDLE, *LAST, *ELSEWHERE}
    assert {*FIRST, *LOAD, *MIDDLE, *LAST}.issuperset(SHORT)


def lives(seed: int) -> list[list[Kill]]:
    """The kills of each mirror; the last one goes on after its tables have been made."""
    chooser = random.Random(seed)
    later = [*chooser.sample(MIDDLE, len(MIDDLE)), *LAST]
    kills = {
        name: Kill(name, _last_hit(name) or chooser.randint(1, 2 if name in TWICE else 3))
        for name in (*FIRST, *later)
        if FULL or name in SHORT
    }
    first = [[kills[name]] for name in FIRST if name in kills]
    *earlier, last = first
    return [*earlier, [*last, *(kills[name] for name in later if name in kills)]]


def _last_hit(name: str) -> int | None:
    if name not in ONCE:
        return None
    return 2 if name in AT_THE_SECOND else 1


@pytest.mark.parametrize("seed", SEEDS)
def test_delta_tables_equal_the_source_when_drivers_are_killed(
    seed: int, workers: Nursery, arena: Path
) -> None:
    for number, (first, *later) in enumerate(lives(seed)):
        directory = arena / str(number)
        directory.mkdir()
        with mirrored(workers, directory, seed) as mirror:
            mirror.advance()
            mirror.kill(first)
            mirror.advance()
            mirror.run_to_the_end()
            assert mirror.differences() == [], first
            if later:
                _kill_on(mirror, later)


@pytest.mark.parametrize("seed", SEEDS)
def test_loaded_tables_equal_the_source_when_drivers_are_killed(
    seed: int, workers: Nursery, arena: Path
) -> None:
    """One load has a long life: what is killed at one step goes on to the next."""
    with mirrored(workers, arena, seed) as mirror:
        mirror.begin_load()
        for name in LOAD:
            if FULL or name in SHORT:
                mirror.kill(Kill(name, 1))
        mirror.advance()
        mirror.run_to_the_end()
        assert mirror.differences() == []


def _kill_on(mirror: Mirrored, kills: list[Kill]) -> None:
    mirror.advance()
    # A driver meets two batches when the one before it has left its own undone.
    mirror.kill(replace(kills[0], hit=1))
    for kill in kills[1:]:
        if kill.failpoint == "spark.table.before_alter":
            mirror.workload.alter()
        if kill.failpoint == "spark.table.after_alter":
            mirror.workload.rename()
        mirror.advance()
        mirror.kill(kill)
    mirror.advance()
    mirror.run_to_the_end()
    assert mirror.differences() == []


def _outrun(mirror: Mirrored, plant: str, at: str = "spark.table.before_merge") -> list[str]:
    """A driver is frozen before its commit, its successor overtakes it, then it wakes up."""
    mirror.advance()
    mirror.run_to_the_end(plant=plant)
    mirror.workload.rewrite()
    mirror.capture()
    with mirror.driver(f"{at}=sleep:3", plant=plant) as zombie:
        mirror.wait_for(zombie, at)
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

    @pytest.mark.parametrize("at", ["spark.table.before_merge", "spark.table.rows_written"])
    def test_tables_stand_when_a_frozen_driver_wakes_after_its_successor(
        workers: Nursery, arena: Path, at: str
    ) -> None:
        with mirrored(workers, arena, 1) as mirror:
            assert _outrun(mirror, "", at) == []

    def test_suite_reports_a_violation_when_the_merge_has_no_sequence_guard(
        workers: Nursery, arena: Path
    ) -> None:
        with mirrored(workers, arena, 1) as mirror:
            assert _outrun(mirror, "unguarded_merge") != []
