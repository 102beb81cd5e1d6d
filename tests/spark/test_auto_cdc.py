"""Rows for Auto CDC: the last one by sequence, per key, is what the table holds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.errors import ConfigError
from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.pipelines import auto_cdc_source
from headwater.testing.history.table import ChangingTable
from tests.spark.lake import Lake

pytestmark = pytest.mark.spark

NOTES = TableSchema(
    TableId("public", "notes"),
    tuple(
        Column(name, LogicalType.parse(kind), nullable=name != "id")
        for name, kind in {"id": "int64", "text": "string", "sum": "decimal(38,10)"}.items()
    ),
    ("id",),
)


def test_last_row_by_sequence_is_the_table_and_what_auto_cdc_cannot_say_stops_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake, notes = Lake(spark, tmp_path), ChangingTable(random.Random(5), NOTES)
    while notes.waiting < 120:
        notes.step()
    lake.append(notes)  # type: ignore[arg-type]
    wanted = {number: tuple(row.values.values()) for number, row in notes.rows.items()}
    assert _kept(spark, lake) == wanted
    whole = lake.head
    notes.truncate()
    lake.append(notes)  # type: ignore[arg-type]
    with pytest.raises(
        Exception, match=rf"\[auto-cdc-truncate\] public.notes at sequence {whole + 1}"
    ):
        _kept(spark, lake)
    notes.long = ("text",)
    notes.insert(1)
    notes.update(1, "sum")
    lake.append(notes)  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"\[auto-cdc-partial\] public.notes"):
        _kept(spark, lake, after=whole + 1)


def _kept(spark: SparkSession, lake: Lake, after: int = 0) -> dict[int, tuple[Any, ...]]:
    """What SCD type 1 is, in plain Python."""
    events = spark.read.format("headwater").option("startingSequence", after)
    rows = auto_cdc_source(events.load(str(lake.log.path)), "notes", log=lake.log.path)
    assert rows.columns == ["id", "text", "sum", "_headwater_sequence", "_headwater_deleted"]
    last: dict[int, Any] = {}
    for row in rows.collect():
        held = last.get(row["id"])
        if held is None or held["_headwater_sequence"] < row["_headwater_sequence"]:
            last[row["id"]] = row
    return {
        key: (row["text"], row["sum"]) for key, row in last.items() if not row["_headwater_deleted"]
    }


def test_table_without_a_key_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path)
    keyless = TableSchema(NOTES.table, (Column("a", LogicalType(Kind.INT64)),))
    events = spark.read.format("headwater").load(str(lake.log.path))
    history = type("One", (), {"schemas": lambda _: ((1, keyless),)})()
    with pytest.raises(ConfigError, match="spark-no-key"):
        auto_cdc_source(events, "notes", log=history)
