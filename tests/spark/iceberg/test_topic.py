"""A topic to Iceberg tables: what was before its first record, and what is in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.test_kafka import assert_begins_late

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


def test_topic_keeps_iceberg_tables_and_is_a_gap_when_it_begins_after_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_begins_late(spark, tmp_path, "iceberg")
