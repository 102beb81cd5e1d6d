"""What is done for files never fails a batch, which is applied by then."""

from __future__ import annotations

from typing import cast

from pyspark.sql import SparkSession

from headwater.event import TableId
from headwater.spark.keep.keeper import Keeper, NoKeepWatch
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
