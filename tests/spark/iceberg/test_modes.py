"""Iceberg tables of every mode hold what the oracle says, whatever others commit in between."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark.modes import MODES, Mode
from headwater.spark.table import pruning
from headwater.spark.table.upkeep import WriteCost
from tests.spark.iceberg.frost import Frost
from tests.spark.permuted import SEEDS, deliver, deliveries, tell

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

MAINTAINED: tuple[Mode, ...] = ("mirror", "scd2")


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_every_mode_are_the_same_however_their_events_are_delivered(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """INV-10, exactly once, though tables are compacted and raised to version 3 on the way.

    Batches are cut anywhere, with their events in any order and some twice; they overlap, come
    again as after a crash, and come too late.
    """
    monkeypatch.setattr(pruning, "_WORTH_FILES", 0)
    chooser = random.Random(seed)
    lake = Frost(spark, tmp_path)
    names = tuple(column.name for column in tell(lake, chooser).schema.columns)
    ranges = deliveries(chooser, lake.head)
    second = next(place for place, each in enumerate(ranges) if each[1] > ranges[0][1])
    deliver(lake, lake.tables(), ranges[: second + 1], seed)
    reached = lake.table().standing().applied
    cost = lake.upkeep("mirror").last_cost()
    assert isinstance(cost, WriteCost)
    told = {name: int(value) for name, value in lake.snapshots()[0].items() if value.isdecimal()}
    assert cost.written_bytes == told["added-files-size"]
    # Rows take what the files of data do, without the files of marks that were written beside them.
    assert 0 < cost.row_bytes * told["added-records"] < told["added-files-size"]
    assert cost.changed_rows == max(told["added-records"], told["added-position-deletes"])
    before = lake.upkeep("scd2").files()
    lake.keep(*MAINTAINED)
    assert lake.upkeep("scd2").files().count < before.count
    for mode in MAINTAINED:
        assert [each for each in lake.snapshots(mode) if "headwater.sequence" in each] == []
        assert lake.table(mode).standing().applied == reached
    lake.alter("SET TBLPROPERTIES ('format-version' = '3')", "scd2")
    deliver(lake, lake.tables(), ranges[second + 1 :], seed + 1)
    oracle = lake.oracle(names)
    for mode in MODES:
        wanted: list[tuple[Any, ...]] = getattr(oracle, mode)()
        assert sorted(lake.held(mode, names), key=repr) == sorted(wanted, key=repr), (mode, ranges)
        ours = [each for each in lake.snapshots(mode) if "headwater.sequence" in each]
        positions = [int(each["headwater.sequence"]) for each in ours]
        kept = [until for _, until in ranges if mode not in MAINTAINED or until > reached]
        assert positions == sorted(set(kept), reverse=True), mode
    assert "added-dvs" in lake.snapshots("scd2")[0]
    assert "added-position-delete-files" in lake.snapshots("mirror")[0]
