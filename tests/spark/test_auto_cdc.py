"""Rows for Auto CDC: the last one by sequence, per key, is what the table holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError
from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.pipelines import auto_cdc_source, typed
from headwater.testing.history.table import ChangingTable, Row
from tests.spark.lake import Lake

pytestmark = pytest.mark.spark

NOTES = TableSchema(
    TableId("public", "notes"),
    tuple(
        Column(name, LogicalType.parse(kind), nullable=name != "id", number=number)
        for number, (name, kind) in enumerate(
            {"id": "int64", "text": "string", "sum": "decimal(38,10)"}.items(), 1
        )
    ),
    ("id",),
)
RENAMED = replace(
    NOTES,
    columns=tuple(
        replace(column, name="body") if column.name == "text" else column
        for column in NOTES.columns
    ),
)
WIDER = replace(
    RENAMED, columns=(*RENAMED.columns, Column("city", LogicalType(Kind.STRING), number=4))
)
Read = Callable[[DataFrame, Path], DataFrame]


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


def _told(events: DataFrame, log: Path) -> DataFrame:
    return typed(events, "notes", log=log).select("after.*")


def _changed(events: DataFrame, log: Path) -> DataFrame:
    return auto_cdc_source(events, "notes", log=log).drop("_headwater_sequence")


@pytest.mark.parametrize("read", [_told, _changed])
def test_stream_ends_at_a_new_shape_and_goes_on_with_it_when_it_begins_again(
    spark: SparkSession, tmp_path: Path, read: Read
) -> None:
    """What the log learns after the stream began would be NULL where there is a value."""
    lake, notes = Lake(spark, tmp_path), ChangingTable(random.Random(5), NOTES)
    found: list[dict[str, Any]] = []

    def begun() -> Callable[[], object]:
        """A stream that knows the shapes of now; it reads when it is called."""
        stream = spark.readStream.format("headwater").option("startingSequence", "earliest")
        rows = read(stream.load(str(lake.log.path)), lake.log.path)
        writer = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer = writer.foreachBatch(
            lambda batch, _: found.extend(row.asDict() for row in batch.collect())
        )
        return lambda: writer.trigger(availableNow=True).start().awaitTermination()

    def tell(schema: TableSchema, row: dict[str, Any]) -> None:
        notes.schema = schema
        notes.rows[1] = Row(dict(row), set(row))
        notes.read(1)
        lake.append(notes)  # type: ignore[arg-type]

    steps = (
        (NOTES, {"text": "a", "sum": None}),
        (RENAMED, {"body": "b", "sum": None}),
        (WIDER, {"body": "c", "sum": None, "city": "Bonn"}),
    )
    tell(*steps[0])
    stream = begun()
    stream()
    for schema, row in steps[1:]:
        tell(schema, row)
        place = rf"\[spark-new-shape\] public.notes at sequence {lake.head}: Start the query again"
        with pytest.raises(Exception, match=place):
            stream()
        stream = begun()
        stream()
    said = [{name: row[name] for name in row if name[0] != "_"} for row in found]
    assert said == [{"id": 1, **row} for _, row in steps]


def test_table_without_a_key_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path)
    keyless = TableSchema(NOTES.table, (Column("a", LogicalType(Kind.INT64)),))
    events = spark.read.format("headwater").load(str(lake.log.path))
    history = type("One", (), {"schemas": lambda _: ((1, keyless),)})()
    with pytest.raises(ConfigError, match="spark-no-key"):
        auto_cdc_source(events, "notes", log=history)
