"""A new Iceberg table is loaded on a branch of its own, and comes whole or not at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater import failpoint
from headwater.errors import TransientError
from headwater.spark.modes import Mode
from headwater.spark.table.iceberg import IcebergTargets, publish
from headwater.spark.table.iceberg.publish import LOAD
from headwater.spark.table.layout import MIRROR
from headwater.spark.table.target import Taken
from tests.chaos.spark_places import PLACES
from tests.spark.iceberg.frost import Frost
from tests.spark.iceberg.test_commits import ITEMS
from tests.spark.letters import Letters
from tests.spark.loading import OWED, Loading, kept_as, live, load_in_parts, read
from tests.spark.test_load_columns import Pool, load_while_columns_change
from tests.spark.test_modes import pruned  # noqa: F401 - a fixture

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


class Freezing(Frost, Loading):
    """Its tables are Iceberg's: a generation is a branch of theirs."""

    modes = kept_as("mirror", "scd2")

    def branches(self, mode: Mode) -> set[str]:
        return set(self.table(mode)._table().refs())

    def operations(self, mode: Mode, branch: str = "main") -> list[str]:
        history = self.table(mode)._history().on(branch)
        return [summary["operation"] for summary in history._summaries()]

    def assert_only_added(self, mode: Mode) -> None:
        assert self.branches(mode) == {LOAD}
        assert set(self.operations(mode, LOAD)) == {"append"}
        assert self.held(mode, ("id",)) == []

    def assert_switched_in(self, mode: Mode) -> None:
        assert self.branches(mode) == {"main"}
        assert self.was_loaded(mode)
        assert self._all().loading(self.spark) == ()

    def was_loaded(self, mode: Mode) -> bool:
        return any(each.get("headwater.log", "").endswith(":rows") for each in self.snapshots(mode))

    def tidy(self, mode: Mode) -> None:
        self.keep(mode)

    def has_merged(self, mode: Mode) -> bool:
        return self.operations(mode)[0] == "overwrite"


def test_table_comes_whole_when_it_changes_while_it_is_loaded(
    pruned: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    load_in_parts(Freezing(pruned, tmp_path), random.Random(1), tmp_path)


def test_columns_that_change_during_a_load_are_what_they_are_in_a_stream(
    pruned: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    """Iceberg knows columns by numbers, which the rows of the load have had from the beginning."""
    pool = Pool(tmp_path, "iceberg", ("changed", "unchanged"))

    def assert_hidden() -> None:
        path = str(tmp_path / "lake" / "changed")
        assert pruned.read.format("iceberg").load(path).isEmpty()

    load_while_columns_change(pruned, pool, assert_hidden)


class KilledError(BaseException):
    """The process ends here: nothing that handles errors takes notice."""


# In the order in which a driver comes by, each once: what is done is not done again.
ADDING = (
    *("spark.table.before_create", "spark.table.after_create", "spark.iceberg.before_publish"),
    *("spark.load.after_keep", "spark.load.before_append", "spark.load.after_append"),
)
WRITING = ("spark.iceberg.before_publish", "spark.iceberg.after_publish")
ENDING = tuple(each for each in PLACES["iceberg"].load if each not in ADDING)


def test_load_goes_on_when_drivers_end_at_every_step(
    pruned: SparkSession,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One load has a long life: where one driver ended, the next one goes on to the next step."""

    def end(name: str, action: str) -> None:
        raise KilledError(name, action)

    def run_into(name: str, after: int) -> None:
        monkeypatch.setattr(failpoint, "_PLANS", failpoint._parse(f"{name}=kill"))
        with pytest.raises(KilledError, match=name):
            lake.apply(after)
        monkeypatch.setattr(failpoint, "_PLANS", {})

    monkeypatch.setattr(failpoint, "_act", end)
    lake, letters = Freezing(pruned, tmp_path), Letters(random.Random(2))
    lake.modes = kept_as("mirror")
    for number in range(20):
        letters.older(number)
    read(letters, list(range(10)))
    live(letters, 8)
    lake.append(letters, OWED)
    for name in ADDING:
        run_into(name, 0)
    lake.apply(0)
    lake.assert_half_is_hidden()

    middle = lake.head
    read(letters, sorted(letters.rows))
    lake.append(letters, ())
    for name in ENDING:
        run_into(name, middle)
    lake.apply(middle)
    names = tuple(column.name for column in letters.schema.columns)
    assert {row[1]: row[2:] for row in lake.held("mirror", names)} == letters.settle()
    lake.assert_switched_in("mirror")

    standing = lake.head
    live(letters, 8)
    lake.append(letters)
    for name in WRITING:
        run_into(name, standing)
    lake.apply(standing)
    assert {row[1]: row[2:] for row in lake.held("mirror", names)} == letters.settle()


class Loader:
    """One of several drivers that load the same table, each through a session of its own."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark.newSession()
        self.table = IcebergTargets("catalog:ice.loads", "log").open(
            self.spark, ITEMS.table, "mirror"
        )
        self.generation = self.table.generation()

    def append(self, number: int, until: int) -> None:
        columns = "id long, name string, _headwater_sequence long"
        row = self.spark.createDataFrame([(number, str(number), number)], columns)
        self.generation.append(row, until)

    def loading(self) -> list[str]:
        found = IcebergTargets("catalog:ice.loads", "log").loading(self.spark)
        return [f"{table} as {mode}" for table, mode in found]


def test_overtaken_driver_adds_nothing_when_its_successor_goes_on(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a catalog that has a name. A driver knows from which position it has read its rows."""
    late, quick = Loader(spark), Loader(spark)
    assert (late.generation.taken(), late.loading()) == (None, [])
    quick.generation.prepare(ITEMS, MIRROR)
    quick.append(1, 10)
    assert late.generation.taken() == Taken(10, 0)
    assert late.loading() == [f"{ITEMS.table} as mirror"]
    quick.append(2, 20)
    late.append(2, 20)  # it is there
    with pytest.raises(TransientError, match="another driver"):
        late.append(3, 30)

    quick.generation.close(20)
    late.append(3, 30)
    taken = late.generation.taken()
    assert taken is not None
    assert (taken.closed, taken.until) == (20, 20)

    successor = [lambda: quick.generation.switch(20)]

    def at_the_worst_moment(name: str) -> None:
        if name == "spark.iceberg.before_publish" and successor:
            successor.pop()()

    monkeypatch.setattr(publish, "failpoint", at_the_worst_moment)
    for _ in range(2):  # as it comes in, and too late
        with pytest.raises(TransientError) as raised:
            late.generation.switch(20)
        assert raised.value.code == "spark-load-overtaken"
    with pytest.raises(TransientError, match="another driver"):
        late.append(3, 30)
    for each in (quick, late):
        each.generation.clear()

    standing = late.table.standing()
    held = late.table.rows(standing)
    assert held is not None
    assert (standing.applied, sorted(row["id"] for row in held.collect())) == (20, [1, 2])
    assert (list(late.table._table().refs()), late.loading()) == (["main"], [])
