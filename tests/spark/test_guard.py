"""The sequence guard of the MERGE: an older change never wins, and without the guard it would."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.change.changes import TableChanges
from headwater.spark.table import merge
from headwater.spark.table.delta import DeltaTarget
from headwater.spark.table.layout import MIRROR

pytestmark = pytest.mark.spark

ITEMS = TableSchema(
    table=TableId(None, "items"),
    columns=(Column("id", LogicalType(Kind.INT64)), Column("name", LogicalType(Kind.STRING))),
    primary_key=("id",),
)
CHANGES = TableChanges("items", ITEMS, {}, partial=False, truncated_at=None)
COLUMNS = "__sequence bigint, __deleted boolean, id bigint, name string, __partial boolean"
STORED = "id bigint, name string, _headwater_sequence bigint"


def _late_change(spark: SparkSession, path: Path) -> str:
    """A newer row stands in the table; then a stale writer, under another name, merges its own."""
    for writer, sequence, name in (("first", 20, "newer"), ("stale", 10, "older")):
        table = DeltaTarget(spark, str(path), writer)
        table.prepare(ITEMS, MIRROR)
        rows = spark.createDataFrame([(sequence, False, 1, name, False)], COLUMNS)
        table.write(rows, sequence, lambda name, view: merge.merge_sql(name, view, CHANGES))
    (row,) = spark.read.format("delta").load(str(path)).collect()
    return str(row["name"])


def test_older_change_loses_against_a_newer_row(spark: SparkSession, tmp_path: Path) -> None:
    assert _late_change(spark, tmp_path / "items") == "newer"


def test_older_change_would_win_when_the_guard_is_planted_away(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The teeth of the test above: the same story with the guard removed goes wrong."""
    guarded = merge.merge_sql

    def unguarded(target: str, view: str, changes: TableChanges, within: str = "true") -> str:
        sql = guarded(target, view, changes, within)
        planted = sql.replace("s.__sequence > t._headwater_sequence", "true")
        assert planted != sql
        return planted

    monkeypatch.setattr(merge, "merge_sql", unguarded)
    assert _late_change(spark, tmp_path / "items") == "older"


def test_second_driver_that_fills_a_new_table_doubles_no_key(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Both looked while the table was new; the later one holds more changes."""
    path = str(tmp_path / "items")
    first, second = (DeltaTarget(spark, path, "driver") for _ in range(2))
    first.prepare(ITEMS, MIRROR)
    second.prepare(ITEMS, MIRROR)
    for table, until, names in ((first, 10, ["a"]), (second, 20, ["a", "b"]), (first, 15, ["a"])):
        rows = [(number, name, until) for number, name in enumerate(names)]
        table.fill(spark.createDataFrame(rows, STORED), until)
    held = spark.read.format("delta").load(path).collect()
    assert sorted((row["id"], row["name"]) for row in held) == [(0, "a"), (1, "b")]
    assert first.standing().applied == 20


def test_rows_are_those_of_the_position_when_another_driver_has_gone_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A moved row is completed from the table as it stood before the batch, or not at all."""
    table = DeltaTarget(spark, str(tmp_path / "items"), "driver")
    assert table.rows(table.standing()) is None
    table.prepare(ITEMS, MIRROR)
    table.fill(spark.createDataFrame([(1, "old", 10)], STORED), 10)
    standing = table.standing()
    gone = spark.createDataFrame([(20, True, 1, "", False)], COLUMNS)
    table.write(gone, 20, lambda name, view: merge.merge_sql(name, view, CHANGES))
    held = table.rows(standing)
    assert held is not None
    assert standing.applied == 10
    assert [row["name"] for row in held.collect()] == ["old"]
    assert table.standing().applied == 20
