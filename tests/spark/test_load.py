"""A new table is loaded beside itself, without MERGE, and comes whole or not at all."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.errors import TransientError
from headwater.spark.modes import Mode, Modes
from headwater.spark.proof.applied import AppliedTables
from headwater.spark.table.delta import DeltaTarget, DeltaTargets
from headwater.spark.table.generation import FOLDER
from headwater.spark.table.path import table_path
from tests.spark.letters import LETTERS, OTHERS, Letters
from tests.spark.test_modes import Modal, interpreted  # noqa: F401 - a fixture

pytestmark = pytest.mark.spark

SEEDS = range(1, 1 + int(os.environ.get("HEADWATER_SEEDS", "1")))
LOADED: tuple[Mode, ...] = ("mirror", "soft_delete", "scd2")
OWED = (LETTERS.table,)


class Loading(Modal):
    """A lake whose only table is being read while it changes."""

    modes = Modes(chosen=dict.fromkeys(LOADED, ("letters",)))

    def path(self, mode: Mode) -> str:
        return table_path(self.target, LETTERS.table, mode)

    def standing(self, mode: Mode) -> int | None:
        return self._target(mode).standing().version

    def _target(self, mode: Mode) -> DeltaTarget:
        return DeltaTargets(self.target, self.log.reader().log_id).open(
            self.spark, LETTERS.table, mode
        )

    def operations(self, path: str) -> list[str]:
        history = self.spark.sql(f"DESCRIBE HISTORY delta.`{path}`").orderBy("version")
        return [row["operation"] for row in history.collect()]

    def assert_half_is_hidden(self) -> None:
        """Neither a reader nor a comparison finds a table; the load has only added."""
        applied = AppliedTables(
            self.spark,
            self.target,
            DeltaTargets(self.target, self.log.reader().log_id),
            Modes(),
        )
        with pytest.raises(TransientError, match="still being loaded"):
            applied.read(LETTERS)
        for mode in LOADED:
            assert self.standing(mode) is None
            held = self.operations(f"{self.path(mode)}/{FOLDER}/rows")
            altered = {"ADD COLUMNS", "SET TBLPROPERTIES"}
            assert set(held) - altered == {"CREATE TABLE", "WRITE"}


def _live(letters: Letters, events: int) -> None:
    """Anything but reads: those come in chunks."""
    until = letters.waiting + events
    while letters.waiting < until:
        if letters.chooser.random() < 0.3 and letters.rows:
            number = letters.chooser.choice(list(letters.rows))
            letters.update(number, *letters.chooser.sample(OTHERS, 1))
        else:
            letters.step()


def _read(letters: Letters, numbers: list[int]) -> None:
    for number in numbers:
        letters.read(number)


def _rows(frame: Any) -> list[str]:
    return sorted(map(repr, frame.collect()))


@pytest.mark.parametrize("seed", SEEDS)
def test_table_comes_whole_when_it_changes_while_it_is_loaded(
    interpreted: SparkSession,  # noqa: F811
    tmp_path: Path,
    seed: int,
) -> None:
    """INV-10, exactly once: each batch comes to a new process, some of them again.

    Rows are read that were changed, moved and deleted before and after; some are read twice; the
    source begins anew once; a column is added; the last chunk is empty.
    """
    chooser = random.Random(seed)
    lake, letters = Loading(interpreted, tmp_path), Letters(chooser)
    for number in range(0, 400, 2):
        letters.older(number)
    _read(letters, list(range(0, 40, 2)))
    _live(letters, 20)
    lake.append(letters, OWED)
    lake.apply(0)
    lake.assert_half_is_hidden()

    heads = [0, lake.head]
    letters.truncate()
    for number in range(0, 200, 2):
        letters.older(number)
    for chunk in range(2):
        _live(letters, chooser.randint(5, 30))
        if chunk:
            letters.widen()
        every = sorted(letters.rows)
        half = len(every) // 2
        _read(letters, every[chunk * half : (chunk + 1) * half + 3])
        _live(letters, chooser.randint(5, 30))
        if chunk:
            _read(letters, [each for each, row in letters.rows.items() if not _heard(letters, row)])
        lake.append(letters, OWED)
        lake.apply(chooser.choice(heads[-2:]))
        heads.append(lake.head)
    lake.assert_half_is_hidden()

    lake.settle()
    lake.apply(lake.head)
    names = tuple(column.name for column in letters.schema.columns)
    whole = letters.settle()
    assert len(whole) == len(letters.rows)
    held = {row[1]: row[2:] for row in lake.held("mirror", names)}
    assert held == whole
    for mode in LOADED:
        assert lake.operations(lake.path(mode)) == ["WRITE"], mode
        assert not Path(lake.path(mode), FOLDER, "_changes").exists()
        assert not Path(lake.path(mode), FOLDER, "rows", "_delta_log").exists()

    other = str(tmp_path / "other")
    lake.apply(0, other)
    here, lake.target = lake.target, other
    wanted = {mode: lake.held(mode, names) for mode in LOADED}
    assert not Path(lake.path("mirror"), FOLDER).exists(), "one batch is filled at once"
    lake.target = here
    for mode in LOADED:
        assert sorted(lake.held(mode, names), key=repr) == sorted(wanted[mode], key=repr), mode

    _assert_it_goes_on(lake, letters, names)


def _heard(letters: Letters, row: Any) -> bool:
    return bool(row.heard.issuperset(column.name for column in letters.schema.columns[2:]))


def _assert_it_goes_on(lake: Loading, letters: Letters, names: tuple[str, ...]) -> None:
    """The table is like any other: changes are merged, old batches are known, VACUUM is safe."""
    before = lake.head
    _live(letters, 10)
    lake.append(letters)
    lake.apply(before)
    lake.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        lake.spark.sql(f"VACUUM delta.`{lake.path('mirror')}` RETAIN 0 HOURS")
    finally:
        lake.spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert {row[1]: row[2:] for row in lake.held("mirror", names)} == letters.settle()
    assert "MERGE" in lake.operations(lake.path("mirror"))
