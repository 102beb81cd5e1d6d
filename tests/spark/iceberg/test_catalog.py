"""Iceberg tables in a catalog of the session: their names, their types, and whose they are."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headwater.errors import ConfigError
from headwater.event import Column, Kind, LogicalType, TableId, TableSchema
from headwater.spark.change.changes import DELETED, PARTIAL, SEQ, TableChanges
from headwater.spark.sql import quoted
from headwater.spark.table.iceberg import IcebergTarget, IcebergTargets
from headwater.spark.table.layout import MIRROR, SEQUENCE
from headwater.spark.table.merge import merge_sql

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

# A type, as Iceberg stores it, and a value of what the changes of a batch have.
KINDS = {
    "tiny": (LogicalType(Kind.INT16), "int", "7S"),
    "few": (LogicalType(Kind.ARRAY, element=LogicalType(Kind.INT16)), "array<int>", "array(7S)"),
    "exact": (
        LogicalType(Kind.DECIMAL, precision=38, scale=9),
        "decimal(38,9)",
        "12345678901234567890123456789.123456789BD",
    ),
    "local": (LogicalType(Kind.TIMESTAMP), "timestamp_ntz", "timestamp_ntz'2026-01-02 03:04:05.6'"),
    "instant": (LogicalType(Kind.TIMESTAMPTZ), "timestamp", "timestamp'2026-01-02 03:04:05.6Z'"),
    "day": (LogicalType(Kind.DATE), "date", "date'2026-01-02'"),
    "raw": (LogicalType(Kind.BINARY), "binary", "X'00FF'"),
    "half": (LogicalType(Kind.FLOAT32), "float", "0.1F"),
    "yes": (LogicalType(Kind.BOOLEAN), "boolean", "true"),
    "doc.json": (LogicalType(Kind.JSON), "string", "'{}'"),
}
TABLE = TableSchema(
    table=TableId("public", "kinds-1"),
    columns=tuple(Column(name, kind) for name, (kind, _, _) in KINDS.items()),
    primary_key=("tiny", "doc.json"),
)
NAME = "ice.bronze.shop.public__kinds_1"


def _opened(spark: SparkSession, table: TableId = TABLE.table) -> IcebergTarget:
    return IcebergTargets("catalog:ice.bronze.shop", "log").open(spark, table, "mirror")


def test_table_in_a_named_catalog_has_every_type_and_only_its_own_source(
    spark: SparkSession,
) -> None:
    table = _opened(spark)
    assert table.prepare(TABLE, MIRROR)
    assert not table.prepare(TABLE, MIRROR)
    stored = [field.dataType.simpleString() for field in spark.table(NAME).schema.fields]
    assert stored == [*(kind for _, kind, _ in KINDS.values()), "bigint"]

    values = ", ".join(f"{value} AS {quoted(name)}" for name, (_, _, value) in KINDS.items())
    table.fill(spark.sql(f"SELECT {values}, 1L AS {SEQUENCE}"), 1)
    changed = spark.sql(f"SELECT {values}, 2L AS {SEQ}, false AS {DELETED}, false AS {PARTIAL}")
    changes = TableChanges("kinds-1", TABLE, {}, partial=False, truncated_at=None)
    table.write(changed, 2, lambda name, view: merge_sql(name, view, changes))
    names = [*map(quoted, KINDS)]
    assert spark.table(NAME).select(*names).collect() == changed.select(*names).collect()
    assert [row[SEQUENCE] for row in spark.table(NAME).collect()] == [2]
    # A moved row is looked for by its key, whose parts may be wider in the table.
    assert spark.sql("SELECT struct(7S AS a) = struct(7 AS a)").collect() == [(True,)]

    with pytest.raises(ConfigError) as taken:
        _opened(spark, TableId("public", "kinds_1")).standing()
    assert taken.value.code == "spark-table-taken"
