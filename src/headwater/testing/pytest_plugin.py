"""Fixtures for tests of pipelines. pytest finds them by itself where Headwater is installed.

- `headwater_spark`: one quiet session on `local[1]` for the whole run.
- `headwater_history`: a log with changes drawn from a seed; call it with the seed.
- `assert_converges`: see converge.py.

The setting `headwater_tables` of pytest is the table format of the session, `delta` or `parquet`.
Nothing heavy is loaded before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.testing.history.log import History


# Tables of tests are small: compiling a plan, or looking at it again, takes longer than running it.
_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The setting."""
    parser.addini(
        "headwater_tables",
        "table format of the session headwater_spark: delta, or parquet, which needs no jars",
        default="delta",
    )


@pytest.fixture(scope="session")
def headwater_spark(pytestconfig: pytest.Config) -> Iterator[SparkSession]:
    """A session that knows `format("headwater")`; it ends with the run."""
    from headwater.app.spark.session import spark_session

    chosen: Any = pytestconfig.getini("headwater_tables")
    with spark_session(chosen, master="local[1]") as session:
        for name, value in _SMALL.items():
            session.conf.set(name, value)
        yield session


@pytest.fixture
def headwater_history(tmp_path: Path) -> Iterator[Callable[..., History]]:
    """Makes histories: `headwater_history(seed, transactions=30, duplicates=False)`."""
    from headwater.testing.history.log import History

    made: list[History] = []

    def make(seed: int = 1, transactions: int = 30, *, duplicates: bool = False) -> History:
        path = tmp_path / f"history-{seed}-{len(made)}.hwlog"
        made.append(History(path, seed, transactions, duplicates=duplicates))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def assert_converges(headwater_spark: SparkSession) -> Callable[..., None]:
    """The assertion, with the session that it needs."""
    del headwater_spark
    from headwater.testing.converge import assert_converges

    return assert_converges
