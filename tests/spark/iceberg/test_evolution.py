"""Iceberg tables follow their source through every change of its columns, by Iceberg's ALTERs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.errors import ConfigError
from headwater.event import Operation
from headwater.log import SqliteLog
from headwater.spark.table.iceberg.columns import widens
from tests.spark.theirs import theirs
from tests.spark.things import FINAL, Pond, Things, expected, shape, story

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


def test_tables_are_the_same_wherever_batches_are_cut(spark: SparkSession, tmp_path: Path) -> None:
    """INV-10: columns are added, widened, renamed, swapped, dropped and made anew on the way.

    A version that is kept reads the rows of a snapshot from before: under the names of today.
    """
    things, ends = story(SqliteLog.create(tmp_path / "things.hwlog"))
    things.write()
    pond = Pond(spark, things, tmp_path / "lake", ("mirror", "scd2"), table_format="iceberg")
    across = [2, *(end + 2 for end in ends[:-1]), ends[-1]]
    for after, until in zip([0, *across], across, strict=False):
        pond.apply(after, until)
    pond.apply(0, ends[-1])
    for mode in pond.modes:
        assert set(pond.columns(mode)) == set(FINAL.values()), mode
        assert pond.held(mode, list(FINAL.values())) == expected(things, mode, FINAL), mode


def test_table_goes_on_when_the_statement_of_the_halt_was_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Iceberg makes no decimal of an integer: the column is dropped, and its values come again."""
    things = Things(SqliteLog.create(tmp_path / "things.hwlog"), shape("id:int32#1 qty:int32#2"))
    things.tell(Operation.INSERT, id=1, qty=5)
    things.becomes("id:int32#1 qty:decimal(12,2)#2")
    things.tell(Operation.UPDATE, id=1, qty="5.25")
    things.write()
    pond = Pond(spark, things, tmp_path / "lake", table_format="iceberg")
    pond.apply(0, 1)
    with pytest.raises(ConfigError) as caught:
        pond.apply(1, 2)
    assert caught.value.code == "spark-type-changed"
    statement, again = caught.value.hint.split("; ")
    assert again == "then read its values again: headwater backfill start FILE public.things"
    session, _ = theirs(spark, "iceberg", pond.target / "any")
    session.sql(statement)
    pond.apply(0, 2)
    assert pond.columns() == {"id": "int", "qty": "decimal(12,2)"}
    assert [str(each[1]) for each in pond.held("mirror", ["id", "qty"])] == ["5.25"]


def test_types_that_widen_are_those_that_the_installed_iceberg_widens(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    kinds = (
        *("boolean", "int", "bigint", "float", "double", "string", "binary"),
        *("decimal(10,0)", "decimal(10,2)", "decimal(12,2)", "decimal(12,4)", "decimal(38,0)"),
        *("date", "timestamp_ntz", "timestamp"),
    )
    types = {
        kind: jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(
            jvm.org.apache.spark.sql.types.DataType.fromDDL(kind)
        )
        for kind in kinds
    }
    allowed = jvm.org.apache.iceberg.types.TypeUtil.isPromotionAllowed
    differing = [
        (old, new)
        for old in kinds
        for new in kinds
        if old != new and widens(old, new) != allowed(types[old], types[new])
    ]
    assert differing == []
