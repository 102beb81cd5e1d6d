"""Places of parked tables: what they hold, what gives them up, and that nothing is lost by it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.app.spark import TableJob, as_of
from headwater.app.spark.release import release
from headwater.errors import HeadwaterError
from tests.spark.scripted import Scripted

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def keys(spark: SparkSession, job: TableJob, folder: str) -> list[int]:
    rows = spark.read.format("delta").load(f"{job.target}/{folder}").collect()
    return sorted(row["id"] for row in rows)


def published(spark: SparkSession, job: TableJob) -> dict[str, int]:
    """By table and mode the event at which each stands in the newest set."""
    found = as_of(spark, str(job.target))
    return {f"{each.table}@{each.mode}": each.sequence for each in found.tables}


class Constraint:
    """What lets a table fail at one row."""

    def __init__(self, spark: SparkSession, job: TableJob, folder: str) -> None:
        self._spark, self._table = spark, f"delta.`{job.target}/{folder}`"

    def add(self, key: int) -> None:
        self._spark.sql(f"ALTER TABLE {self._table} ADD CONSTRAINT only CHECK (id <> {key})")

    def drop(self) -> None:
        self._spark.sql(f"ALTER TABLE {self._table} DROP CONSTRAINT only")


def fails(spark: SparkSession, job: TableJob) -> None:
    with pytest.raises((Py4JJavaError, PySparkException)):
        job.run_once(spark)


@pytest.mark.parametrize("given_up", [False, True])
def test_mode_that_is_parked_lacks_nothing_when_it_was_left_out_and_is_named_again(
    spark: SparkSession, tmp_path: Path, *, given_up: bool
) -> None:
    log = Scripted(tmp_path)
    one = TableJob(log.log.path, str(tmp_path / "lake"))
    both = TableJob(one.log_path, one.target, modes={"mirror": ["*"], "soft_delete": ["t"]})
    log.insert(("t", 1), ("u", 1))
    both.run_once(spark)
    failing = Constraint(spark, both, "t@soft_delete")
    failing.add(7)
    log.insert(("t", 7), ("u", 2))
    fails(spark, both)
    assert log.places() == {"spark": 4, "spark:t@soft_delete": 2}
    one.run_once(spark)  # nothing has come since
    if given_up:
        (told,) = release(one, "t@soft_delete")["released"]
        assert told["goes_on_after"] is None
    assert ("spark:t@soft_delete" in log.places()) is not given_up
    failing.drop()
    log.insert(("t", 8))
    both.run_once(spark)
    assert keys(spark, both, "t@soft_delete") == keys(spark, both, "t") == [1, 7, 8]
    assert published(spark, both) == {"t@mirror": 5, "t@soft_delete": 5, "u@mirror": 4}


def test_released_table_leaves_out_all_that_was_said_whatever_the_batches_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = Scripted(tmp_path)
    job = TableJob(log.log.path, str(tmp_path / "lake"))
    log.insert(("t", 1), ("u", 1))
    job.run_once(spark)
    Constraint(spark, job, "t").add(7)
    log.insert(("t", 7), ("u", 2))
    fails(spark, job)
    for key in (20, 21, 7):
        head = log.insert(("t", key))
    release(job, "t", head)
    last = log.insert(("t", 22))
    replace(job, max_events=2).run_once(spark)
    assert keys(spark, job, "t") == [1, 22]
    assert log.places() == {"spark": last}
    assert published(spark, job) == {"t@mirror": last, "u@mirror": 4}


def test_load_has_every_row_when_its_table_was_left_out_meanwhile(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Twice, and in one mode only, too: each time it is known what was passed over."""
    log = Scripted(tmp_path)
    job = TableJob(log.log.path, str(tmp_path / "lake"), modes={"mirror": ["*"], "scd2": ["t"]})
    log.insert(("u", 1), empty=["e"])
    job.run_once(spark)
    for number, left_out in enumerate((None, "mode", None, "table", None)):
        log.load(("t", number), owes=number < 4)
        match left_out:
            case "mode":
                replace(job, modes={"mirror": ["*"]}).run_once(spark)
            case "table":
                replace(job, tables=("u", "e")).run_once(spark)
            case _:
                job.run_once(spark)
    assert keys(spark, job, "t") == keys(spark, job, "t@scd2") == [*range(5)]
    assert published(spark, job) == {"t@mirror": 6, "t@scd2": 6, "u@mirror": 1}


def test_parked_table_begins_anew_when_it_was_removed_and_holds_the_set_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    log = Scripted(tmp_path)
    job = TableJob(log.log.path, str(tmp_path / "lake"))
    log.insert(("u", 1), empty=["t"])
    job.run_once(spark)
    spark.sql(f"CREATE TABLE delta.`{job.target}/t` (id bigint, v int) USING delta")
    log.insert(("t", 1), ("u", 2))  # its first event fails: half of a transaction is there
    with pytest.raises(HeadwaterError):
        job.run_once(spark)
    assert published(spark, job) == {"u@mirror": 1}
    shutil.rmtree(tmp_path / "lake" / "t")
    job.run_once(spark)
    assert published(spark, job) == {"t@mirror": 3, "u@mirror": 3}

    Constraint(spark, job, "t").add(7)
    log.insert(("t", 7))
    fails(spark, job)
    shutil.rmtree(tmp_path / "lake" / "t")
    head = log.insert(("t", 8))
    job.run_once(spark)
    assert keys(spark, job, "t") == [1, 7, 8]
    assert published(spark, job) == {"t@mirror": head, "u@mirror": 3}
