"""Fixture plugin: one quiet local Spark session with Delta for the whole run."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from headwater.app.spark import spark_session

    with spark_session(kafka=True) as session:
        yield session
