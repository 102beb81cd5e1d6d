"""Fixture plugin: one quiet local Spark session with Delta for the whole run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Tables of a few rows: compiling each plan would take far longer than running it.
SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
}


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from headwater.app.spark import register
    from headwater.spark.session import end_session, local_session

    session = local_session(kafka=True, avro=True, extra=SMALL)
    register(session)
    try:
        yield session
    finally:
        end_session(session)
