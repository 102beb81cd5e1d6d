"""On a cluster: the submitted job of the example, and an executor that dies within a batch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from headwater.spark import jars
from tests.docs.markdown import ROOT
from tests.shop import Shop, open_shop

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

SUBMIT = ROOT / "examples" / "spark" / "cluster" / "submit.sh"
# Tables of a few rows: the defaults plan for a cluster of machines.
SMALL = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
# What ran where, as lines of JSON.
TOLD = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
ROUNDS = 2


def test_tables_equal_the_source_when_an_executor_dies_within_a_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    shop, target = open_shop(tmp_path), tmp_path / "lake"
    head = _told(shop)
    commits = target / "_headwater" / "checkpoint-spark" / "commits"
    job = _submit(tmp_path, str(shop.log.path), str(target), "--max-events", str(head // ROUNDS))
    try:
        # One batch is done, so the next is at work.
        _until(lambda: (commits / "0").exists() or job.poll() is not None, 200)
        first = _executors(job.pid)
        os.kill(min(first), signal.SIGKILL)
        unfinished = not (commits / str(ROUNDS - 1)).exists()
        later: set[int] = set()
        while job.poll() is None:
            later |= _executors(job.pid)
            time.sleep(0.2)
    finally:
        _end(job)
    said = (tmp_path / "job.log").read_text()
    assert job.returncode == 0, said[-3000:]
    assert f"applied up to event {head}" in said
    assert len(first) == 2
    assert _shared(tmp_path / "events"), "both executors read one batch"
    assert unfinished
    assert later - first, "another executor took over"
    _assert_equal(spark, shop, target)


def _told(shop: Shop) -> int:
    """A history of a few rounds, each of which changes both tables."""
    shop.drain()
    for number in range(10, 16):
        shop.run(
            f"INSERT INTO customers (id, name, balance) VALUES ({number}, 'new', {number})",
            f"INSERT INTO orders VALUES ('south', {number}, {number}, 'n{number}')",
            f"UPDATE customers SET name = 'round {number}' WHERE id = 1",
            f"DELETE FROM orders WHERE number = {number - 2}",
        )
    return shop.drain()


def _submit(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    (folder / "events").mkdir()
    settings = SMALL | TOLD | {"spark.eventLog.dir": (folder / "events").as_uri()}
    options = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    said = {
        "PYSPARK_PYTHON": sys.executable,
        "HEADWATER_JARS": ",".join(map(str, jars.ensure())),
        "SUBMIT_OPTIONS": options,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(_spark_home(folder)),
    }
    with (folder / "job.log").open("wb") as output:
        return subprocess.Popen(
            [SUBMIT, *arguments],
            env={**os.environ, **said},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def _spark_home(folder: Path) -> Path:
    """Spark as it is installed, elsewhere: executors work in a folder below it."""
    home = folder / "spark"
    home.mkdir()
    for part in Path(pyspark.__path__[0]).iterdir():
        (home / part.name).symlink_to(part)
    return home


def _executors(driver: int) -> set[int]:
    """The executors among the processes that began with the driver."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                ours = os.getsid(int(entry.name)) == driver
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if ours and b"CoarseGrainedExecutorBackend" in command:
                found.add(int(entry.name))
    return found


def _shared(folder: Path) -> bool:
    """Whether tasks of one read of the log ran on two executors."""
    (file,) = folder.iterdir()
    told = [json.loads(line) for line in file.read_text().splitlines()]
    reads, where = set[int](), dict[int, set[str]]()
    for event in told:
        if event["Event"] == "SparkListenerStageSubmitted":
            stage = event["Stage Info"]
            if any(rdd["Name"] == "DataSourceRDD" for rdd in stage["RDD Info"]):
                reads.add(stage["Stage ID"])
        elif event["Event"] == "SparkListenerTaskEnd":
            ran = event["Task Info"]["Executor ID"]
            where.setdefault(event["Stage ID"], set()).add(ran)
    return any(len(where.get(stage, ())) > 1 for stage in reads)


def _until(condition: Callable[[], bool], limit_s: float) -> None:
    give_up = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.05)


def _end(job: subprocess.Popen[bytes]) -> None:
    """What is left of the session that the test began."""
    if job.poll() is None:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def _assert_equal(spark: SparkSession, shop: Shop, target: Path) -> None:
    for table, names in (("customers", "id, name, balance"), ("orders", "region, number, note")):
        wanted = shop.db.execute(f"SELECT {names} FROM {table} ORDER BY 1, 2").fetchall()
        frame = spark.read.format("delta").load(str(target / table))
        kept = frame.select(*names.split(", ")).orderBy(*names.split(", ")[:2]).collect()
        assert [tuple(row) for row in kept] == wanted
