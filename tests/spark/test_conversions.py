"""Values of one type in a table's column of another: what can be is, and the rest is NULL."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import DataError
from headwater.event import Column, LogicalType
from headwater.spark.change.contents import classified
from headwater.spark.change.kinds import casts
from headwater.spark.change.reading import with_forgiven_image, with_image

pytestmark = pytest.mark.spark
SCHEMA_ID = 7
DEEP = "[" * 1_100 + "]" * 1_100


def _column(name: str, kind: str) -> Column:
    return Column(name, LogicalType.parse(kind))


def _images(spark: SparkSession, *images: str) -> DataFrame:
    rows = [(SCHEMA_ID, each) for each in images]
    return spark.createDataFrame(rows, "schema_id bigint, image string")


@pytest.mark.parametrize("forgiving", [False, True])
def test_value_is_null_where_its_type_cannot_be_the_column_s(
    spark: SparkSession, *, forgiving: bool
) -> None:
    cases: list[tuple[str, str, str, Any]] = [
        ("date", "int32", '"2026-01-02"', None),
        ("int32", "date", "20454", None),
        ("boolean", "date", "true", None),
        ("int32", "array<int32>", "1", None),
        ("string", "array<string>", '"[1]"', None),
        ("json", "array<json>", "[1]", None),
        ("array<json>", "int32", "[1]", None),
        ("array<int32>", "array<date>", "[1]", None),
        ("array<string>", "string", '["a", "b"]', '["a","b"]'),
        ("array<json>", "string", '[{"a" : 1.50}]', '[{"a" : 1.50}]'),
        ("array<int32>", "array<string>", "[1]", ["1"]),
        ("string", "int32", '"12"', 12),
        ("string", "int32", '"twelve"', None),
        ("boolean", "int32", "true", 1),
    ]
    columns = [_column(f"c{place}", wanted) for place, (_, wanted, _, _) in enumerate(cases)]
    told = {f"c{place}": _column(f"c{place}", kind) for place, (kind, _, _, _) in enumerate(cases)}
    image = ", ".join(f'"c{place}": {text}' for place, (_, _, text, _) in enumerate(cases))
    rows, readings = _images(spark, f"{{{image}}}"), {SCHEMA_ID: told}
    if forgiving:
        found = with_forgiven_image(rows, "row", "image", columns, (), readings)
    else:
        found = with_image(rows, "row", "image", columns, readings)
    assert list(found.select("row.*").collect()[0]) == [each[3] for each in cases]


def test_value_that_no_worker_can_read_is_the_table_s_own_fault_or_null(
    spark: SparkSession,
) -> None:
    """Unknown errors stop the stream; an error of a table parks it alone."""
    columns, other = [_column("doc", "json")], _column("items", "array<json>")
    for column, image, code in (
        (columns[0], f'{{"doc": {DEEP}}}', "event-invalid"),
        (other, '{"items": "{secret}"}', "value-mistyped"),
    ):
        rows = _images(spark, image)
        with pytest.raises(PySparkException) as caught:
            with_image(rows, "row", "image", [column], {}).select("row.*").collect()
        error = classified(caught.value, "orders")
        assert isinstance(error, DataError)
        assert (error.code, error.where) == (code, "table orders")
        assert "secret" not in str(error)
        forgiven = with_forgiven_image(rows, "row", "image", [column], (), {})
        assert forgiven.select("row.*").collect() == [(None,)]


def test_casts_are_those_that_the_installed_spark_has(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    cast = jvm.org.apache.spark.sql.catalyst.expressions.Cast
    parsed = jvm.org.apache.spark.sql.types.DataType
    kinds = (
        *("boolean", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "string"),
        *("date", "timestamp_ntz", "timestamp", "array<int>", "array<date>", "array<string>"),
    )
    illegal = [
        (old, new)
        for old in kinds
        for new in kinds
        # What a cast makes is cast back, to see whether it is the same.
        if casts(old, new)
        and not (
            cast.canTryCast(parsed.fromDDL(old), parsed.fromDDL(new))
            and (old == "string" or cast.canTryCast(parsed.fromDDL(new), parsed.fromDDL(old)))
        )
    ]
    assert illegal == []
