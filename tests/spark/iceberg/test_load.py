"""A new Iceberg table is loaded on a branch of its own, and comes whole or not at all."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.spark.modes import Mode
from headwater.spark.table.iceberg.publish import LOAD
from tests.spark.iceberg.frost import Frost
from tests.spark.loading import Loading, load_in_parts
from tests.spark.test_modes import interpreted  # noqa: F401 - a fixture

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


class Freezing(Frost, Loading):
    """Its tables are Iceberg's: a generation is a branch of theirs."""

    modes = Loading.modes

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
        return any(":rows" in each["headwater.log"] for each in self._past(mode))

    def _past(self, mode: Mode) -> list[dict[str, str]]:
        return [each for each in self.snapshots(mode) if "headwater.log" in each]

    def tidy(self, mode: Mode) -> None:
        self.keep(mode)

    def has_merged(self, mode: Mode) -> bool:
        return self.operations(mode)[0] == "overwrite"


def test_table_comes_whole_when_it_changes_while_it_is_loaded(
    interpreted: SparkSession,  # noqa: F811
    tmp_path: Path,
) -> None:
    load_in_parts(Freezing(interpreted, tmp_path), random.Random(1), tmp_path)
