"""The target's side of a proof: Spark hashes rows as the source's side does."""

from __future__ import annotations

import json
import math
import random
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.narrow import compare
from headwater.app.proof.spark_side import SparkSide
from headwater.app.proof.spill import Spill
from headwater.errors import ConfigError
from headwater.event import Column, LogicalType, TableId, TableSchema
from headwater.spark.change.columns import typed
from headwater.spark.change.reading import with_image
from headwater.spark.modes import Modes
from headwater.spark.proof.applied import AppliedTables
from headwater.spark.proof.hashed import HashedRows
from headwater.spark.table.delta import DeltaTargets

pytestmark = pytest.mark.spark

TYPES = (
    *("boolean", "int16", "int32", "int64", "float32", "float64", "decimal(38,9)", "decimal"),
    *("string", "binary", "date", "time", "timestamp", "timestamptz", "interval", "uuid", "json"),
    *("dynamic", "array<int32>", "array<string>", "array<float64>", "array<timestamptz>"),
)
SCHEMA = TableSchema(
    TableId(None, "odd"),
    (
        Column("id", LogicalType.parse("int64"), nullable=False),
        Column("kind.of`key", LogicalType.parse("string"), nullable=False),
        *(Column(f"c {each}", LogicalType.parse(each), nullable=True) for each in TYPES),
    ),
    ("id", "kind.of`key"),
)
# What no reader of JSON would give back as it was.
EXACT = ('"exact"', '{"n": 0.10000000000000000000000000000001, "n": 1.00}')
ODD: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int16": [-32768, 0],
    "int32": [2147483647],
    "int64": [-9223372036854775808, 7],
    "float32": [0.1, 3.4028234663852886e38, "NaN", -0.0, 1.401298464324817e-45],
    "float64": [0.1, -0.0, 1e22, 5e-324, "Infinity", "-Infinity", "NaN", 1e-7],
    "decimal(38,9)": ["0.000000001", "-12345678901234567890123456789.000000000", "1.500000000"],
    "decimal": ["1E+400", "0.10"],
    "string": ["", "é😀\u0001\n", '{"no": "json"}', "1:a", {"$binary": "AP8="}],
    "binary": ["AP8=", "", {"$text": "text in a blob"}],
    "date": ["2026-02-03", "0001-01-01", "9999-12-31"],
    "time": ["04:05:06.700000"],
    "timestamp": ["0001-01-01T00:00:00.000000", "1969-12-31T23:59:59.999999"],
    "timestamptz": ["2026-02-03T04:05:06.700000Z", "1900-01-01T00:00:00.000001Z"],
    "interval": ["1 day 02:00:00"],
    "uuid": ["6f1c0000-0000-0000-0000-000000000001"],
    "json": [
        {"b": [1.5, None, 1e3, 1e22], "a": "é\u001f\\u001f"},
        [],
        [1, {}],
        "text",
        1e-5,
        "exact",
    ],
    "dynamic": [5, "5", 1.25, 12345678.9, {"$binary": "/w=="}, True],
    "array<int32>": [[], [1, None, -2]],
    "array<string>": [["a,1:b", None, "", "-"]],
    "array<float64>": [[0.1, "NaN", 1e300]],
    "array<timestamptz>": [["2026-02-03T04:05:06.700000Z", None]],
}


def rows(count: int) -> Iterator[dict[str, Any]]:
    dice = random.Random(7)
    for number in range(count):
        row: dict[str, Any] = {"id": number, "kind.of`key": f"k{number % 3}"}
        for each in TYPES:
            row[f"c {each}"] = dice.choice([None, *ODD[each]])
        (any_float,) = struct.unpack("d", dice.randbytes(8))
        if number % 2 and not math.isnan(any_float):  # JSON has no such number
            row["c float64"] = any_float
        yield row


def kept(spark: SparkSession, images: list[str]) -> DataFrame:
    """The images as a table keeps them."""
    frame = spark.createDataFrame([(image,) for image in images], "image string")
    return with_image(frame, "row", "image", SCHEMA.columns, {}).select(
        *(typed(column, "row").alias(column.name) for column in SCHEMA.columns)
    )


def test_spark_hashes_rows_as_the_source_s_side_does_for_every_type(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    source = list(rows(300))
    images = [json.dumps(row, ensure_ascii=False).replace(*EXACT) for row in source]
    encoder = Encoder(SCHEMA)
    with Spill(encoder, held_rows=64) as spill:
        for image in images:
            spill.add(encoder.row(image))
        target = kept(session, images).localCheckpoint()
        found = compare(SparkSide(HashedRows(target, SCHEMA)), spill)
        wrong = found.differences.different
        assert wrong == (), [row for row in source if str(row["id"]) in wrong[0]]
        assert found.equal
        assert found.target.rows == 300
        changed = f.when(f.col("id") == 7, "forged").otherwise(f.col("`c string`"))
        forged = target.where("id <> 9").withColumn("c string", changed)
        twice = forged.union(forged.where("id = 4").withColumn("id", f.lit(400).cast("bigint")))
        left_out = Encoder(SCHEMA).place(source[11]).hex()
        side = SparkSide(HashedRows(twice, SCHEMA, [left_out]))
        found = compare(side, spill, rows_per_range=1)
    assert found.differences.different == ('{"id":7,"kind.of`key":"k1"}',)
    assert found.differences.extra == ('{"id":400,"kind.of`key":"k1"}',)
    assert set(found.differences.missing) == {
        '{"id":9,"kind.of`key":"k0"}',
        '{"id":11,"kind.of`key":"k2"}',
    }


def test_texts_of_some_rows_are_those_that_the_source_s_side_hashes(spark: SparkSession) -> None:
    """What an event leaves out is hashed with them: row by row they make the row's own hash."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    source, encoder = list(rows(60)), Encoder(SCHEMA)
    images = [json.dumps(row, ensure_ascii=False).replace(*EXACT) for row in source]
    held = {encoder.place(row).hex(): row for row in map(encoder.row, images)}
    hashed = HashedRows(kept(session, images + images[:1]).localCheckpoint(), SCHEMA)
    names = [column.name for column in SCHEMA.columns]
    places = [*held][:50]
    found = list(hashed.texts(places, [*names, "no such column"]))
    assert sorted(place for place, _ in found) == sorted([*places, places[0]])
    for place, texts in found:
        assert texts == encoder.texts(held[place])
        assert encoder.hash_of(texts) == encoder.hash(held[place])
    (only,) = hashed.texts(places[1:2], ["id"])
    assert only == (places[1], {"id": "1"})


def test_rows_are_equal_when_a_table_spells_a_name_in_another_case(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Names that differ by case are one to Spark, so no ALTER has changed the spelling."""
    columns = (
        Column("id", LogicalType.parse("int64")),
        Column("name", LogicalType.parse("string")),
    )
    schema = TableSchema(TableId(None, "spelt"), columns, ("id",))
    targets = DeltaTargets(str(tmp_path), "log")
    sums = []
    for names in ("ID", "Name"), ("id", "name"):
        path = targets.open(spark, schema.table, "mirror").place
        rows = spark.createDataFrame([(1, "a"), (2, None)], f"{names[0]} bigint, {names[1]} string")
        rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
        applied = AppliedTables(spark, str(tmp_path), targets, Modes()).read(schema)
        assert applied is not None
        hashed = applied.rows(())
        sums.append(sorted(hashed.ranges(0)))
        assert sorted(key["id"] for _, _, key, _ in hashed.rows([""])) == [1, 2]
    assert sums[0] == sums[1]
    other = replace(schema, primary_key=("oid",))
    with pytest.raises(ConfigError, match="no column oid"):
        AppliedTables(spark, str(tmp_path), targets, Modes()).read(other)


def test_rows_are_equal_when_the_source_has_a_type_with_less_room(spark: SparkSession) -> None:
    """Such a change is nothing to do for a table; a value that would not fit there differs."""
    kinds = {"id": "int32", "price": "decimal(10,2)", "day": "date", "size": "int32"}
    columns = tuple(Column(name, LogicalType.parse(kind)) for name, kind in kinds.items())
    schema = TableSchema(TableId(None, "narrowed"), columns, ("id",))

    def hashes(wide: str) -> list[str]:
        rows = spark.sql(
            f"SELECT {wide} FROM VALUES (1, 1.5, DATE'2024-01-01', 5), (2, NULL, NULL, NULL)"
            " AS t (id, price, day, size)"
        )
        return sorted(each_hash for _, each_hash, _, _ in HashedRows(rows, schema).rows([""]))

    same = hashes(
        "bigint(id) id, CAST(price AS decimal(12,4)) price, CAST(day AS timestamp_ntz) day,"
        " double(size) size"
    )
    plain = "int(id) id, CAST(price AS decimal(10,2)) price, day, int(size) size"
    assert same == hashes(plain)
    other = "int(id) id, CAST(price + 0.0001 AS decimal(12,4)) price, day, double(size) size"
    assert len(set(hashes(other)) - set(same)) == 1
