"""Tables that lack what their stream has passed take it from the log, and say so if it is gone."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat, TableJob, as_of
from headwater.app.spark.release import release
from headwater.cli.main import main
from headwater.errors import DataError, GapError, StateError
from headwater.log import RetentionPolicy, SqliteLog
from tests.shop import Shop, open_shop

pytestmark = pytest.mark.spark

Rows = list[tuple[Any, ...]]


def _held(spark: SparkSession, job: TableJob, table: str) -> Rows:
    """What a mirror has of the columns that SQLite and Spark spell alike."""
    return sorted(((row[0], row[1]) for row in _rows(spark, job, table)), key=repr)


def _rows(spark: SparkSession, job: TableJob, folder: str) -> Rows:
    held = spark.read.format(job.table_format).load(f"{job.target}/{folder}")
    return sorted((tuple(row) for row in held.collect()), key=repr)


def _source(shop: Shop, table: str) -> Rows:
    rows = shop.db.execute(f"SELECT * FROM {table}").fetchall()
    return sorted(((row[0], row[1]) for row in rows), key=repr)


def _change(shop: Shop, turn: int) -> int:
    shop.run(
        f"UPDATE customers SET name = 'name {turn}' WHERE id = 1",
        f"INSERT INTO customers (id, name) VALUES ({100 + turn}, 'new')",
        f"UPDATE orders SET note = 'note {turn}'",
    )
    return shop.drain()


def test_table_or_mode_that_is_named_later_has_everything_from_the_log(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    """Rows that were read before anybody wanted them too, and what came while it was left out."""
    shop = open_shop(tmp_path)
    shop.drain()
    job = TableJob(shop.log.path, str(tmp_path / "lake"), table_format)
    whole = replace(job, target=str(tmp_path / "whole"), consumer="whole", modes={"scd2": ["*"]})
    few = replace(job, tables=("customers",))
    few.run_once(spark)
    _change(shop, 1)
    few.run_once(spark)
    more = replace(job, modes={"mirror": ["*"], "scd2": ["orders"]})
    head = more.run_once(spark)  # nothing is new in the log
    assert [each.table for each in as_of(spark, job.target).tables] == [
        *("customers", "orders", "orders"),
    ]
    whole.run_once(spark)
    for turn, now in ((2, few), (3, more)):
        head = _change(shop, turn)
        assert now.run_once(spark) == head
    assert whole.run_once(spark) == head
    for table in ("customers", "orders"):
        assert _held(spark, job, table) == _source(shop, table)
    assert _rows(spark, more, "orders@scd2") == _rows(spark, whole, "orders@scd2")
    assert as_of(spark, job.target).sequence == head
    assert {cursor.name for cursor in shop.log.info().cursors} == {"spark", "whole"}


def test_table_that_is_removed_or_replaced_by_a_copy_takes_from_the_log_what_it_lacks(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    shop = open_shop(tmp_path)
    shop.drain()
    job = TableJob(shop.log.path, str(tmp_path / "lake"), table_format)
    job.run_once(spark)
    shutil.copytree(f"{job.target}/orders", tmp_path / "copy")
    _change(shop, 1)
    job.run_once(spark)
    shutil.rmtree(f"{job.target}/orders")
    shutil.copytree(tmp_path / "copy", f"{job.target}/orders")
    shutil.rmtree(f"{job.target}/customers")
    head = _change(shop, 2)
    assert job.run_once(spark) == head
    for table in ("customers", "orders"):
        assert _held(spark, job, table) == _source(shop, table)
    assert as_of(spark, job.target).sequence == head


def test_new_target_has_everything_and_one_of_another_log_is_refused(
    spark: SparkSession, tmp_path: Path, table_format: TableFormat
) -> None:
    """The cursor is where the old target was; numbers of another log mean other events."""
    shop = open_shop(tmp_path)
    shop.drain()
    job = TableJob(shop.log.path, str(tmp_path / "lake"), table_format)
    head = job.run_once(spark)
    for folder in ("lake", "other"):
        shutil.rmtree(job.target, ignore_errors=True)
        new = replace(job, target=str(tmp_path / folder), interval_s=3600.0)
        assert new.run_once(spark) == head  # and it returns, whatever the interval
        for table in ("customers", "orders"):
            assert _held(spark, new, table) == _source(shop, table)

    again = Shop(shop.db, shop.path, SqliteLog(tmp_path / "again.hwlog"))
    shop.db.execute("DELETE FROM orders")
    shop.db.commit()
    again.drain()
    shutil.rmtree(new.checkpoint)
    with pytest.raises(GapError, match="choose a new target") as caught:
        replace(new, log_path=again.log.path).run_once(spark)
    assert caught.value.code == "spark-other-log"


def test_table_that_lacks_what_the_log_has_lost_is_parked_until_it_is_released(
    spark: SparkSession,
    tmp_path: Path,
    table_format: TableFormat,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """INV-9: the gap is told of, and the other tables go on."""
    shop = open_shop(tmp_path)
    shop.drain()
    job = TableJob(shop.log.path, str(tmp_path / "lake"), table_format)
    few = replace(job, tables=("customers",))
    few.run_once(spark)
    _change(shop, 1)
    few.run_once(spark)
    assert shop.log.retain(RetentionPolicy(max_age_ms=0)).removed_events
    tail = shop.log.info().bounds.tail
    head = _change(shop, 2)
    with pytest.raises(DataError) as caught:
        job.run_once(spark)
    assert caught.value.code == "spark-table-gap"
    assert "headwater spark release" in caught.value.hint
    assert job.status()["orders@mirror"]["parked"] == "spark-table-gap"
    assert _held(spark, job, "customers") == _source(shop, "customers")
    with pytest.raises(DataError, match="spark-table-gap"):
        replace(job, on_table_error="halt").run_once(spark)

    file = tmp_path / "shop.yaml"
    file.write_text(
        "version: 1\nname: shop\nsource: {url: 'sqlite:///shop.db'}\n"
        f"log: {{path: shop.hwlog}}\nspark: {{target: lake, table_format: {table_format}}}\n"
    )

    def command(*words: str) -> tuple[int, dict[str, Any]]:
        code = main(["spark", "release", str(file), *words, "--json"])
        return code, json.loads(capsys.readouterr().out)

    for words, fault, hint in (
        (("customers",), "spark-not-parked", f"headwater status {file} shows"),
        (("order@mirror",), "spark-not-parked", "did you mean orders@mirror?"),
        (("orders", "--after", f"{head + 1}"), "spark-release-after", "Choose one"),
    ):
        code, said = command(*words)
        assert (code, said["error"]["code"]) == (2, fault)
        assert hint in said["error"]["hint"]
    stream = replace(few, interval_s=60.0).start(spark)
    try:
        with pytest.raises(StateError, match="spark-stream-running"):
            release(job, "orders")
    finally:
        stream.stop()
    code, said = command("orders")
    assert code == 0
    (told,) = said["result"]["released"]
    assert (told["table"], told["goes_on_after"]) == ("orders@mirror", tail - 1)
    assert told["without"][1] == tail - 1
    assert job.run_once(spark) == head
    assert job.status()["orders@mirror"]["parked"] is None
    assert _held(spark, job, "orders") == _source(shop, "orders")
    assert {cursor.name for cursor in shop.log.info().cursors} == {"spark"}
