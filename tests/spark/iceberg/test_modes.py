"""Iceberg tables of every mode hold what the oracle says, whatever others commit in between."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark.modes import MODES, Mode
from headwater.spark.table import pruning
from tests.spark.iceberg.frost import Frost
from tests.spark.letters import CITY, Letters

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

MAINTAINED: tuple[Mode, ...] = ("mirror", "scd2")


def test_table_equals_the_oracle_in_every_mode_when_others_maintain_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """INV-10, exactly once. Batches overlap and come again, as after a crash."""
    monkeypatch.setattr(pruning, "_WORTH_FILES", 0)
    lake, letters = Frost(spark, tmp_path), Letters(random.Random(7))
    _live(letters, 25)
    lake.append(letters)
    lake.apply(0)
    first = lake.head
    for mode in MAINTAINED:
        lake.call("rewrite_data_files", mode, options="map('rewrite-all', 'true')")
        # Nothing is left of the snapshot that carried the position.
        lake.call("expire_snapshots", mode, retain_last=1, older_than="now()")
        assert lake.table(mode).standing().applied == first
    lake.alter("SET TBLPROPERTIES ('format-version' = '3')", "scd2")
    letters.widen()
    _live(letters, 20)
    letters.truncate()
    _live(letters, 8)
    lake.append(letters)
    lake.apply(0)
    lake.apply(first)
    names = tuple(column.name for column in letters.schema.columns)
    oracle = lake.oracle(names)
    for mode in MODES:
        wanted: list[tuple[Any, ...]] = getattr(oracle, mode)()
        held = lake.held(mode, names)
        assert sorted(map(_known, held), key=repr) == sorted(map(_known, wanted), key=repr), mode
        ours = [each for each in lake.snapshots(mode) if "headwater.sequence" in each]
        kept = [lake.head] if mode in MAINTAINED else [lake.head, first]
        assert [int(each["headwater.sequence"]) for each in ours] == kept, mode
    assert "added-dvs" in lake.snapshots("scd2")[0]
    assert "added-position-delete-files" in lake.snapshots("mirror")[0]


def _live(letters: Letters, events: int) -> None:
    until = letters.waiting + events
    while letters.waiting < until:
        letters.step()


def _known(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """An event that was applied before its table was widened could not name the new column."""
    return tuple(
        [each for each in value if each != CITY.name] if isinstance(value, list) else value
        for value in row
    )
