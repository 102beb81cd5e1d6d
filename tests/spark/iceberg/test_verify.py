"""Proofs of Iceberg tables: what differs is named key by key, and mended through the log."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from headwater.app.proof.encoding import Encoder
from headwater.app.proof.narrow import compare
from headwater.app.proof.spark_side import SparkSide
from headwater.app.proof.spill import Spill
from headwater.spark.modes import Modes
from headwater.spark.proof.applied import AppliedTables
from headwater.spark.table.iceberg import IcebergTargets
from headwater.spark.table.layout import MIRROR, SEQUENCE
from tests.integration.app.test_verify_repair import Proven, by_table
from tests.spark.test_proof import EXACT, SCHEMA, kept, rows

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]

ROWS = 300


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path) -> Proven:
    with sqlite3.connect(tmp_path / "shop.db") as db:
        db.executescript(
            "CREATE TABLE things (id INTEGER PRIMARY KEY, few SMALLINT, name TEXT, doc JSON,"
            " price DECIMAL(12, 2), raw BLOB, at TIMESTAMP, ratio REAL)"
        )
        told = (
            (
                number,
                number - 150,
                f"näme {number}\n",
                f'{{"n": {number}.50, "e": [1e22, null], "a": "é"}}',
                (number / 4, str(number), None)[number % 3],
                number.to_bytes(2),
                f"2026-01-02 03:04:05.{number:06}",
                number / 7,
            )
            for number in range(ROWS)
        )
        db.executemany("INSERT INTO things VALUES (?, ?, ?, ?, ?, ?, ?, ?)", told)
    file = tmp_path / "shop.yaml"
    file.write_text(
        "version: 1\nname: shop\nsource: {url: 'sqlite:///shop.db'}\nlog: {path: shop.hwlog}\n"
        "server: {enabled: false}\n"
        "spark: {target: lake, table_format: iceberg}\n"
    )
    return Proven(spark, file)


def test_forged_rows_of_iceberg_tables_are_found_and_mended(shop: Proven) -> None:
    shop.pipeline().run(once=True)
    first = shop.prove()
    assert first["equal"], first
    assert by_table(first)["things"]["source"]["rows"] == ROWS
    shop.forge(
        "things",
        "mirror",
        "UPDATE TABLE SET raw = X'0008' WHERE id = 7",
        "DELETE FROM TABLE WHERE id = 11",
        "INSERT INTO TABLE SELECT id + 1000, few, name, doc, price, raw, at, ratio,"
        f" {SEQUENCE} FROM TABLE WHERE id = 13",
    )
    mended = shop.prove(repair=True, timeout_s=30)
    found = by_table(mended["found"])
    assert found["things"]["different"] == [{"id": 7}]
    assert found["things"]["missing"] == [{"id": 11}]
    assert found["things"]["extra"] == [{"id": 1013}]
    (things,) = mended["repaired"]
    assert (things["read"], things["absent"]) == (2, 1)
    assert mended["equal"], mended
    # Through the log: its events are what the tables are proven at.
    assert mended["sequence"] == first["sequence"] + 2 + 1
    assert set(shop.last_equal().values()) == {mended["sequence"]}


def test_rows_of_every_type_are_hashed_as_on_the_source_s_side_when_iceberg_has_kept_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of types that Iceberg does not have it keeps wider ones."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    images = [json.dumps(row, ensure_ascii=False).replace(*EXACT) for row in rows(100)]
    targets = IcebergTargets(str(tmp_path / "lake"), "log")
    table = targets.open(session, SCHEMA.table, "mirror")
    table.prepare(SCHEMA, MIRROR)
    table.fill(kept(session, images).withColumn(SEQUENCE, f.lit(1).cast("bigint")), 1)
    applied = AppliedTables(spark, str(tmp_path / "lake"), targets, Modes()).read(SCHEMA)
    assert applied is not None
    encoder = Encoder(SCHEMA)
    with Spill(encoder, held_rows=64) as spill:
        for image in images:
            spill.add(encoder.row(image))
        found = compare(SparkSide(applied.rows(())), spill)
    assert found.equal, found.differences
    assert found.target.rows == len(images)
