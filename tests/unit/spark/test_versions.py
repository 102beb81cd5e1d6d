"""What depends on the version of Spark: which jars there are, and how offsets are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.app.spark import TableJob
from headwater.errors import MachineError
from headwater.spark.jars import jar_set
from headwater.spark.source.limits import SPARK_LIMITS, offset_of


@pytest.mark.parametrize(
    ("table_format", "spark", "artifact"),
    [
        ("delta", "4.2", "delta-spark_4.2_2.13"),
        ("delta", "4.1", "delta-spark_4.1_2.13"),
        ("iceberg", "4.1", "iceberg-spark-runtime-4.1_2.13"),
    ],
)
def test_jars_are_those_of_the_spark_that_is_installed(
    table_format: str, spark: str, artifact: str
) -> None:
    assert jar_set(table_format, spark).artifacts[0].split(":")[1] == artifact


@pytest.mark.parametrize(
    ("table_format", "spark", "command"),
    [
        ("iceberg", "4.2", "pip install 'pyspark==4.1.4'"),
        ("delta", "4.3", "pip install 'pyspark==4.2.0'"),
    ],
)
def test_format_names_the_spark_to_install_when_it_has_no_build_for_this_one(
    table_format: str, spark: str, command: str
) -> None:
    with pytest.raises(MachineError, match=f"no build for Spark {spark}") as raised:
        jar_set(table_format, spark)
    assert (raised.value.code, raised.value.hint) == ("spark-no-build", command)


def test_offset_of_a_progress_is_read_as_this_spark_shows_it() -> None:
    offset = {"sequence": 29, "log": "a"}
    shown = '{"sequence": 29, "log": "a"}' if SPARK_LIMITS else str(offset)
    assert offset_of(shown) == offset


def test_checkpoint_is_beside_the_log_when_the_tables_are_in_a_catalog(tmp_path: Path) -> None:
    job = TableJob(tmp_path / "shop.hwlog", "catalog:ice.shop", "iceberg", consumer="c")
    assert job.location == "catalog:ice.shop"
    assert job.checkpoint == f"{tmp_path}/shop.hwlog-spark/checkpoint-c"
    below = TableJob(tmp_path / "shop.hwlog", str(tmp_path), "iceberg", consumer="c")
    assert below.checkpoint == f"{tmp_path}/_headwater/checkpoint-c"
