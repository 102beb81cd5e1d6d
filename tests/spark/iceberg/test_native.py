"""What a session without Spark's jar for Avro says: this one has none."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import decode
from headwater.errors import MachineError

pytestmark = [pytest.mark.spark, pytest.mark.iceberg]


def test_native_reading_names_the_jar_when_the_session_lacks_it(spark: SparkSession) -> None:
    records = spark.createDataFrame([], "value binary")
    with pytest.raises(MachineError, match=r"\[spark-avro-missing\].*jar") as caught:
        decode(records, "headwater-avro", native=True)
    assert "avro=True" in str(caught.value)
