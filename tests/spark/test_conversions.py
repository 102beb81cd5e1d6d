"""Values of one type in a table's column of another: what can be is, and the rest is NULL."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import DataError
from headwater.event import Column, LogicalType
from headwater.spark.change.columns import typed
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
        # The same signs are another value: a text that looks like base64 is no bytes.
        ("string", "binary", '"AAH/"', None),
        ("binary", "string", '"AAH/"', "AAH/"),
        ("array<string>", "array<binary>", '["AAH/"]', None),
        ("array<binary>", "array<string>", '["AAH/"]', None),
        ("string", "date", '"2026-01-02"', date(2026, 1, 2)),
        ("string", "date", '"0044-03-15 BC"', None),
        ("string", "timestamp", '"0044-03-15 BC"', None),
        ("array<string>", "array<date>", '["0044-03-15 BC"]', None),
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


def test_text_of_a_column_that_became_bytes_is_not_taken_for_them(spark: SparkSession) -> None:
    """No other column tells that the shapes differ."""
    told = {SCHEMA_ID: {"x": _column("x", "string")}}
    rows = with_image(
        _images(spark, '{"x": "AAH/"}'), "row", "image", [_column("x", "binary")], told
    )
    assert rows.select(typed(_column("x", "binary"), "row")).collect() == [(None,)]


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


def _read(rows: DataFrame, column: Column, *, forgiving: bool) -> list[Any]:
    if forgiving:
        found = with_forgiven_image(rows, "row", "image", [column], (), {})
    else:
        found = with_image(rows, "row", "image", [column], {})
    return [row[0] for row in found.select("row.*").collect()]


def test_value_of_another_kind_stops_the_table_or_is_null(spark: SparkSession) -> None:
    cases = {
        "binary": ("1234", "5", "1.5", "true", '"AAH"', '"hello!!"', '{"text": "a"}'),
        "date": ('"0044-03-15 BC"', '"infinity"', '"2026-01-02 later"'),
        "array<date>": ('["0044-03-15 BC"]',),
        "timestamp": ('"0044-03-15 01:02:03 BC"', '"294276-12-31 00:00:00"'),
        "timestamptz": ('"0044-03-15 01:02:03+00 BC"', '"-infinity"'),
    }
    for kind, values in cases.items():
        column = _column("x", kind)
        images = [f'{{"x": {value}}}' for value in values]
        for image in images:
            with pytest.raises(Py4JJavaError) as caught:
                _read(_images(spark, image), column, forgiving=False)
            error = classified(caught.value, "orders")
            assert isinstance(error, DataError), image
            assert error.code == "value-mistyped"
        nulls = _read(_images(spark, *images), column, forgiving=True)
        assert all(value in (None, [None]) for value in nulls), kind


@pytest.mark.parametrize("forgiving", [False, True])
def test_text_among_bytes_is_its_bytes_beside_values_of_every_kind(
    spark: SparkSession, *, forgiving: bool
) -> None:
    rows = _images(
        spark,
        '{"x": {"$text": "é\\"$text\\""}}',
        '{"x": { "$text" : "1234" }, "y": "AAH/", "z": [1]}',
        '{"x": "AAH/", "y": {"$text": ""}, "z": null}',
        '{"x": "", "y": null, "note": "\\"$text\\""}',
    )
    columns = [_column("x", "binary"), _column("y", "binary"), _column("z", "array<int32>")]
    if forgiving:
        found = with_forgiven_image(rows, "row", "image", columns, (), {})
    else:
        found = with_image(rows, "row", "image", columns, {})
    assert [tuple(row) for row in found.select("row.*").collect()] == [
        ('é"$text"'.encode(), None, None),
        (b"1234", b"\x00\x01\xff", [1]),
        (b"\x00\x01\xff", b"", None),
        (b"", None, None),
    ]


def test_wrong_value_beside_text_among_bytes_is_mistyped(spark: SparkSession) -> None:
    columns = [_column("x", "binary"), _column("y", "binary")]
    rows = _images(spark, '{"x": {"$text": "a"}, "y": 1234}')
    with pytest.raises(Py4JJavaError) as caught:
        with_image(rows, "row", "image", columns, {}).select("row.*").collect()
    assert isinstance(classified(caught.value, "orders"), DataError)
    forgiven = with_forgiven_image(rows, "row", "image", columns, (), {})
    assert forgiven.select("row.*").collect() == [(b"a", None)]


def test_column_of_any_name_is_read(spark: SparkSession) -> None:
    """Spark keeps what it cannot parse in a column of this name, unless it is told another one."""
    column, rows = _column("_corrupt_record", "string"), _images(spark, '{"_corrupt_record": "x"}')
    assert _read(rows, column, forgiving=False) == ["x"]
    assert _read(rows, column, forgiving=True) == ["x"]


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
