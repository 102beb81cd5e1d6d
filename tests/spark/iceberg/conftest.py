"""Iceberg has no build for the Spark that everything else is tested on: see tools/spark41.sh."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from headwater.app.version import installed_version
from tests.chaos.conftest import arena, workers  # noqa: F401 - fixtures of its kill tests
from tests.fix_spark import SMALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.app.spark import TableFormat

# tools/test.sh runs this folder on Spark 4.1; a run that finds no test fails.
collect_ignore_glob = [] if installed_version("pyspark").startswith("4.1.") else ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A session with Delta, with Iceberg, and with a catalog that is named `ice`."""
    from headwater.app.spark import register
    from headwater.spark.session import end_session, folder_conf, local_session

    quick = SMALL | {"spark.sql.shuffle.partitions": "1"}
    ice = folder_conf(str(tmp_path_factory.mktemp("ice")), "ice")
    session = local_session(formats=("delta", "iceberg"), extra=quick | ice)
    register(session)
    yield session
    end_session(session)


@pytest.fixture
def table_format() -> "TableFormat":
    return "iceberg"
