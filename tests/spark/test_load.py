"""A new table is loaded beside itself, without MERGE, and comes whole or not at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.spark.modes import Mode
from headwater.spark.sql import quoted
from headwater.spark.table.generation import FOLDER
from headwater.spark.table.path import table_path
from tests.spark.lake import Lake
from tests.spark.letters import LETTERS, Letters
from tests.spark.loading import OWED, Loading, load_in_parts, read
from tests.spark.permuted import SEEDS
from tests.spark.test_modes import pruned  # noqa: F401 - a fixture

pytestmark = pytest.mark.spark

_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


class Filling(Loading):
    """Its tables are Delta's: a generation is a folder in them."""

    def path(self, mode: Mode) -> Path:
        return Path(table_path(self.target, LETTERS.table, mode))

    def operations(self, path: Path) -> list[str]:
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{path}`").orderBy("version")
        return [row["operation"] for row in history.collect()]

    def assert_only_added(self, mode: Mode) -> None:
        held = self.operations(self.path(mode) / FOLDER / "rows")
        altered = {"ADD COLUMNS", "SET TBLPROPERTIES"}
        assert set(held) - altered == {"CREATE TABLE", "WRITE"}

    def assert_switched_in(self, mode: Mode) -> None:
        path = self.path(mode)
        assert self.operations(path) == ["WRITE"], mode
        assert not (path / FOLDER / "_changes").exists()
        assert not (path / FOLDER / "rows" / "_delta_log").exists()

    def was_loaded(self, mode: Mode) -> bool:
        return (self.path(mode) / FOLDER).exists()

    def tidy(self, mode: Mode) -> None:
        self.spark.conf.set(_CHECK, "false")
        try:
            self.spark.sql(f"VACUUM delta.`{self.path(mode)}` RETAIN 0 HOURS")
        finally:
            self.spark.conf.unset(_CHECK)

    def has_merged(self, mode: Mode) -> bool:
        return "MERGE" in self.operations(self.path(mode))


@pytest.mark.parametrize("seed", SEEDS)
def test_table_comes_whole_when_it_changes_while_it_is_loaded(
    pruned: SparkSession,  # noqa: F811
    tmp_path: Path,
    seed: int,
) -> None:
    load_in_parts(Filling(pruned, tmp_path), random.Random(seed), tmp_path)


def test_load_that_was_closed_is_over_when_its_table_is_read_once_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Its end failed, and before it is tried again a backfill owes rows of the same table."""
    lake, letters = Lake(spark, tmp_path), Letters(random.Random(5))
    for number in (1, 2):
        letters.older(number)
    read(letters, [1, 2])
    lake.append(letters, OWED)
    lake.apply(0)
    lake.settle()
    target = lake.targets(lake.target, lake.log.reader().log_id)
    target.open(spark, LETTERS.table, "mirror").generation().close(lake.head)  # type: ignore[attr-defined]
    after = lake.head
    letters.insert(3)
    letters.update(2, *letters.names)
    lake.append(letters, OWED)
    lake.apply(after)
    held = spark.read.format("delta").load(table_path(lake.target, LETTERS.table))
    names = [quoted(column.name) for column in letters.schema.columns]
    rows = {row[1]: tuple(row)[2:] for row in held.select(*names).collect()}
    assert rows == letters.settle()
