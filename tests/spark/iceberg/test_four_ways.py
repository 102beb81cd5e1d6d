"""The source, Delta, Iceberg and an applier in plain Python agree."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob
from headwater.event import Operation, TableSchema, encode_row
from headwater.spark.proof.rows import as_stored, stored_rows
from tests.shop import Shop, open_shop
from tests.spark.oracle import Oracle
from tests.spark.test_mirror import ROUNDS, _schemas, _source_rows

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

FORMATS: tuple[TableFormat, ...] = ("delta", "iceberg")


def test_source_delta_iceberg_and_a_python_applier_agree_when_tables_are_merged_into(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop = open_shop(tmp_path)
    jobs = {
        kind: TableJob(shop.log.path, str(tmp_path / kind), kind, consumer=kind) for kind in FORMATS
    }
    shop.drain()
    jobs["iceberg"].run_once(spark)
    for statements in ROUNDS:
        shop.run(*statements)
    shop.drain()
    head = shop.log.info().bounds.head
    for job in jobs.values():
        assert job.run_once(spark) == head
    for name, schema in _schemas(shop).items():
        truth = sorted(map(encode_row, _source_rows(shop, schema)))
        assert _applied(shop, schema) == truth, name
        for kind in FORMATS:
            frame = spark.read.format(kind).load(str(tmp_path / kind / name))
            assert sorted(map(encode_row, stored_rows(frame, schema))) == truth, (kind, name)


def _applied(shop: Shop, schema: TableSchema) -> list[str]:
    """The log, event by event, in plain Python."""
    oracle = Oracle(tuple(column.name for column in schema.columns))
    for batch in shop.log.reader().read(0):
        for event in batch:
            if event.table == schema.table.name and event.op is not Operation.SCHEMA_CHANGE:
                oracle.hear(event)
    return sorted(encode_row(as_stored(encode_row(row), schema)) for row in oracle.rows.values())
