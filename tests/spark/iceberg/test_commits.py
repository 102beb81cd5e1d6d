"""Each batch is in an Iceberg table once, whoever else writes to it at the worst moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.errors import TransientError
from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.change.changes import TableChanges
from headwater.spark.table.iceberg import IcebergTargets, publish, target
from headwater.spark.table.layout import MIRROR
from headwater.spark.table.merge import merge_sql

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

ITEMS = TableSchema(
    table=TableId("a b", "it.ems%"),
    columns=(Column("id", LogicalType(Kind.INT64)), Column("name", LogicalType(Kind.STRING))),
    primary_key=("id",),
)
CHANGES = TableChanges("items", ITEMS, {}, partial=False, truncated_at=None)
COLUMNS = "__sequence bigint, __deleted boolean, id bigint, name string, __partial boolean"


class Driver:
    """One of several that apply the same log, each through a session of its own."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark.newSession()
        self.table = IcebergTargets(str(folder), "log").open(self.spark, ITEMS.table, "mirror")
        self.statements = 0

    def merge(
        self,
        until: int,
        *changes: tuple[int, bool, int, str],
        meanwhile: Callable[[], object] = lambda: None,
    ) -> None:
        """Bring the table to `until`; what happens meanwhile happens once, after we looked."""
        rows = self.spark.createDataFrame([(*each, False) for each in changes], COLUMNS)

        def statement(name: str, view: str) -> str:
            self.statements += 1
            if self.statements == 1:
                meanwhile()
            return merge_sql(name, view, CHANGES)

        self.statements = 0
        self.table.write(rows, until, statement)

    def rows(self) -> list[tuple[int, str]]:
        held = self.table.rows(self.table.standing())
        assert held is not None
        return sorted((row["id"], row["name"]) for row in held.collect())

    def refs(self) -> list[str]:
        return list(self.table._table().refs())


def _began(spark: SparkSession, folder: Path) -> tuple[Driver, Driver]:
    """Two drivers that both saw the table at 10."""
    first, second = Driver(spark, folder), Driver(spark, folder)
    assert first.table.rows(first.table.standing()) is None
    assert second.table.standing().applied == 0
    assert first.table.prepare(ITEMS, MIRROR)
    assert not second.table.prepare(ITEMS, MIRROR)
    first.table.fill(
        first.spark.createDataFrame(
            [(1, "one", 5)], "id long, name string, _headwater_sequence long"
        ),
        10,
    )
    assert [each.table.standing().applied for each in (first, second)] == [10, 10]
    return first, second


def test_overtaken_driver_changes_nothing_when_its_successor_was_quicker(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that came and went in the successor's batch is in no file: only positions tell."""
    late, quick = _began(spark, tmp_path)
    successor = [lambda: quick.merge(20, (18, True, 2, ""), (19, False, 1, "newer"))]

    def at_the_worst_moment(name: str) -> None:
        if name == "spark.iceberg.before_publish" and successor:
            successor.pop()()

    monkeypatch.setattr(publish, "failpoint", at_the_worst_moment)
    late.merge(15, (12, False, 2, "came"), (13, False, 1, "older"))
    assert late.statements == 1
    assert quick.rows() == [(1, "newer")]
    assert late.table.standing().applied == 20
    late.merge(18, (13, False, 1, "older"))  # and again, by what it now knows
    assert late.statements == 0
    # Its next batch was worked out from what it saw, which is not what the table is by then.
    with pytest.raises(TransientError) as raised:
        late.merge(
            30,
            (25, False, 3, "three"),
            meanwhile=lambda: quick.merge(25, (25, False, 3, "three")),
        )
    assert raised.value.code == "spark-overtaken"
    assert (quick.rows(), quick.refs()) == ([(1, "newer"), (3, "three")], ["main"])


def test_overtaken_driver_would_bring_a_row_back_when_it_wrote_to_main(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The teeth of the test above: Iceberg's own checks let the late MERGE pass."""
    late, quick = _began(spark, tmp_path)

    def on_main(*given: Any) -> None:
        given[-1]("main")

    monkeypatch.setattr(target, "publish", on_main)
    late.merge(
        15,
        (12, False, 2, "came"),
        meanwhile=lambda: quick.merge(20, (18, True, 2, ""), (19, False, 1, "newer")),
    )
    assert quick.rows() == [(1, "newer"), (2, "came")]


def test_batch_is_merged_once_more_when_others_commit_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Compaction keeps the rows and the position. A branch that a killed driver left goes too."""
    driver, other = _began(spark, tmp_path)
    left = other.table._table()
    left.manageSnapshots().createBranch("headwater_left").commit()
    driver.merge(
        20,
        (12, False, 2, "two"),
        meanwhile=lambda: other.table._table().newFastAppend().commit(),
    )
    assert driver.statements == 2
    assert driver.rows() == [(1, "one"), (2, "two")]
    assert (driver.table.standing().applied, driver.refs()) == (20, ["main"])
    properties = driver.table._history().properties
    assert (properties["headwater.sequence"], properties["headwater.table"]) == (
        "20",
        "a b.it.ems%",
    )
