"""Others write to a table while a batch goes into it: the batch is taken anew, on top of theirs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.app.spark import TableJob
from headwater.errors import TransientError
from headwater.spark.modes import Mode
from headwater.spark.table import delta_replace
from headwater.spark.table.delta import DeltaTarget
from tests.shop import Shop, open_shop

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

COMPACT = "OPTIMIZE {table}"
NOTE = "ALTER TABLE {table} SET TBLPROPERTIES ('turn' = '{turn}')"


class Others:
    """Who writes to a table by a statement, as often as `times` says."""

    def __init__(self, spark: SparkSession, path: Path, statement: str, times: int = 1) -> None:
        self._session = spark.newSession()
        self._table = f"delta.`{path}`"
        self._statement = statement
        self._left = times
        self.wrote = 0

    def write(self) -> None:
        if self._left > 0:
            self._left -= 1
            self._session.sql(self._statement.format(table=self._table, turn=self._left))
            self.wrote += 1


def _while_rows_are_replaced(others: Others, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the commit, after everything that leads to it."""

    def failpoint(name: str) -> None:
        assert name == "spark.table.rows_written"
        others.write()

    monkeypatch.setattr(delta_replace, "failpoint", failpoint)


def _comes(file: Path) -> bool:
    """Whether a file is there before long."""
    until = time.monotonic() + 60
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.02)
    return file.exists()


def _while_rows_are_merged(others: Others, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """While Delta reads the rows of the statement, the first of which waits for the others."""
    reached, done = folder / "reached", folder / "done"
    merged = DeltaTarget._merged

    def waiting() -> bool:
        try:
            reached.touch(exist_ok=False)
        except FileExistsError:
            return True  # one task waits: the others need the cores
        return _comes(done)

    def write() -> None:
        if _comes(reached):
            others.write()
        done.touch()

    def met(
        table: DeltaTarget, rows: DataFrame, until: int, statement: Callable[[str, str], str]
    ) -> None:
        gate = f.udf(waiting, "boolean", useArrow=False).asNondeterministic()
        threading.Thread(target=write).start()
        merged(table, rows.where(gate()), until, statement)

    monkeypatch.setattr(DeltaTarget, "_merged", met)


def _begun(spark: SparkSession, folder: Path, mode: Mode) -> tuple[Shop, TableJob]:
    """A table of two files, and changes that are yet to come."""
    shop = open_shop(folder)
    target = str(folder / "lake")
    job = TableJob(shop.log.path, target, tables=("customers",), mode=mode, maintenance=None)
    shop.drain()
    job.run_once(spark)
    shop.run("INSERT INTO customers (id, name) VALUES (7, 'second file')")
    shop.drain()
    job.run_once(spark)
    shop.run(
        "UPDATE customers SET name = 'changed'",
        "INSERT INTO customers (id, name) VALUES (8, 'new')",
    )
    shop.drain()
    return shop, job


def _names(spark: SparkSession, path: Path, condition: str = "true") -> list[tuple[int, str]]:
    rows = spark.read.format("delta").load(str(path)).where(condition)
    return sorted(map(tuple, rows.select("id", "name").collect()))


@pytest.mark.parametrize("statement", [COMPACT, NOTE])
def test_mirror_takes_the_batch_when_others_write_in_between(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    shop, job = _begun(spark, tmp_path, "mirror")
    path = tmp_path / "lake/customers"
    others = Others(spark, path, statement)
    _while_rows_are_replaced(others, monkeypatch)
    job.run_once(spark)
    assert others.wrote == 1
    assert _names(spark, path) == shop.db.execute("SELECT id, name FROM customers").fetchall()


def test_versions_are_each_written_once_when_others_compact_during_the_merge(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, job = _begun(spark, tmp_path, "scd2")
    path = tmp_path / "lake/customers@scd2"
    before = _names(spark, path)
    others = Others(spark, path, COMPACT)
    _while_rows_are_merged(others, monkeypatch, tmp_path)
    job.run_once(spark)
    assert others.wrote == 1
    now = shop.db.execute("SELECT id, name FROM customers").fetchall()
    assert _names(spark, path, "_headwater_current") == now
    assert _names(spark, path, "NOT _headwater_current") == before


def test_stream_ends_with_a_code_when_others_never_stop(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop, job = _begun(spark, tmp_path, "mirror")
    path = tmp_path / "lake/customers"
    before = _names(spark, path)
    with monkeypatch.context() as always:
        _while_rows_are_replaced(Others(spark, path, NOTE, times=99), always)
        with pytest.raises(TransientError) as caught:
            job.run_once(spark)
    assert caught.value.code == "spark-contended"
    assert _names(spark, path) == before
    job.run_once(spark)
    assert _names(spark, path) == shop.db.execute("SELECT id, name FROM customers").fetchall()
