"""What is done for files never fails a batch, which is applied by then."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import cast

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.keep.keeper import Keeper, KeepPolicy, NoKeepWatch
from headwater.spark.modes import Mode
from headwater.spark.table.upkeep import Files, Upkeep, WriteCost


class Away:
    """Storage that answers for one table and not for another."""

    def upkeep(self, session: object, table: TableId, mode: Mode) -> Upkeep:
        del session, mode
        if table.name == "away":
            raise OSError("storage is away")
        return cast(Upkeep, self)

    def files(self) -> Files:
        return Files(1, 100)

    def last_cost(self) -> WriteCost | None:
        return None

    def expired_at(self) -> float:
        return time.time()


class Lake:
    """Tables of one full file each, which tell how many hours ago old files were looked for."""

    def __init__(self, hours_ago: Mapping[str, float], *, broken: bool = False) -> None:
        self.hours_ago = dict(hours_ago)
        self.expired: list[str] = []
        self._broken = broken

    def upkeep(self, session: object, table: TableId, mode: Mode) -> Upkeep:
        del session, mode
        return Full(self, table.name)

    def expire(self, name: str) -> None:
        self.expired.append(name)
        if self._broken:
            raise OSError("storage is away")
        self.hours_ago[name] = 0


class Full:
    """One of them, which nobody needs to compact."""

    def __init__(self, lake: Lake, name: str) -> None:
        self._lake = lake
        self._name = name

    def files(self) -> Files:
        return Files(1, 100)

    def last_cost(self) -> WriteCost | None:
        return None

    def expired_at(self) -> float:
        return time.time() - self._lake.hours_ago[self._name] * 3600

    def expire(self, older_than_s: int) -> None:
        assert older_than_s == KeepPolicy().retain_s
        self._lake.expire(self._name)

    def compact(self, target_bytes: int, spare: int = 0) -> None:
        raise AssertionError(f"{self._name}: {target_bytes}, {spare}")


class Heard(NoKeepWatch):
    def __init__(self) -> None:
        self.seen: list[str] = []
        self.missed: list[str] = []

    def files(self, name: str, files: Files, cost: WriteCost | None) -> None:
        del files, cost
        self.seen.append(name)

    def failed(self, name: str, error: Exception) -> None:
        assert isinstance(error, OSError)
        self.missed.append(name)


def test_table_whose_files_cannot_be_looked_at_is_told_of_and_the_others_are_looked_at() -> None:
    heard = Heard()
    written: list[tuple[TableId, Mode]] = [
        (TableId(None, "away"), "mirror"),
        (TableId(None, "here"), "scd2"),
    ]
    Keeper(Away(), watch=heard).after_batch(cast(SparkSession, None), written)
    assert (heard.missed, heard.seen) == (["away@mirror"], ["here@scd2"])


def _written(lake: Lake) -> list[tuple[TableId, Mode]]:
    return [(TableId(None, name), "mirror") for name in lake.hours_ago]


def test_old_files_go_where_they_wait_longest_when_nothing_needs_a_compaction() -> None:
    lake = Lake({"a": 2, "b": 5, "c": 0.5})
    # Each process applies one batch: only the tables themselves know when it was done.
    for _ in range(4):
        Keeper(lake, KeepPolicy(compact=False)).after_batch(
            cast(SparkSession, None), _written(lake)
        )
    assert lake.expired == ["b", "a"], "no table twice within an hour"


def test_old_files_of_many_tables_are_not_looked_for_at_once() -> None:
    lake = Lake({f"t{number}": 3 for number in range(200)})
    keeper = Keeper(lake)
    for _ in range(3):
        keeper.after_batch(cast(SparkSession, None), _written(lake))
    assert len(lake.expired) == 1


def test_old_files_stay_when_the_policy_retains_all() -> None:
    lake = Lake({"a": 5})
    keeper = Keeper(lake, KeepPolicy(retain_s=None))
    keeper.after_batch(cast(SparkSession, None), _written(lake))
    assert lake.expired == []


def test_old_files_that_cannot_be_removed_are_told_of_and_not_tried_after_every_batch() -> None:
    lake, heard = Lake({"a": 5}, broken=True), Heard()
    keeper = Keeper(lake, watch=heard)
    for _ in range(3):
        keeper.after_batch(cast(SparkSession, None), _written(lake))
    assert (lake.expired, heard.missed) == (["a"], ["a@mirror"])
