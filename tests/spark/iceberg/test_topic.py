"""On Spark 4.1: a topic to Iceberg tables, and how the place of a stream is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.spark.source.limits import sequence_of
from tests.spark.test_kafka import assert_begins_late

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


def test_topic_keeps_iceberg_tables_and_is_a_gap_when_it_begins_after_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_begins_late(spark, tmp_path, "iceberg")


def test_place_of_a_stream_is_told_as_spark_4_1_shows_it() -> None:
    assert sequence_of("{'sequence': 6, 'log': 'l', 'loads': 1}") == 6
    assert sequence_of(None) is sequence_of("None") is None
