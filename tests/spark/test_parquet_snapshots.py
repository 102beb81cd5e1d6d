"""Parquet tables are read from a snapshot and the changes after it, and no crash shows a half."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Barrier

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.app.spark import TableJob
from headwater.errors import ConfigError, GapError, TransientError
from headwater.event import EventBatch, Operation, encode_row
from headwater.log import RetentionPolicy, SqliteLog
from headwater.spark.apply.parquet import AppendLog
from headwater.spark.table import parquet
from headwater.spark.table.parquet import Appended, SnapshotPolicy, current_rows
from headwater.spark.table.path import table_path
from headwater.testing.builders import IDENTITY, ITEMS, inserts, source_batch
from tests.shop import open_shop
from tests.spark.things import THINGS, Things, shape

pytestmark = pytest.mark.spark


class Stock:
    """A log of items, applied micro-batch by micro-batch, and what should be in the table."""

    def __init__(self, spark: SparkSession, directory: Path, policy: SnapshotPolicy) -> None:
        self.spark = spark
        self.log = SqliteLog.create(directory / "items.hwlog")
        self._writer = self.log.writer(IDENTITY)
        self.target = directory / "lake"
        self.apply = self.applying(policy)
        self.table = Appended(spark, str(self.target / "items"))
        self.wanted: dict[int, int] = {}

    def applying(self, policy: SnapshotPolicy) -> AppendLog:
        reader = self.log.reader()
        return AppendLog(str(self.target), reader, reader.log_id, policy)

    def put(self, *numbers: int) -> None:
        """Items come, or come again."""
        for number in numbers:
            self._append(inserts(number, 1))
            self.wanted[number] = self._writer.head

    def remove(self, number: int) -> None:
        gone = {
            "op": [int(Operation.DELETE)],
            "source_name": IDENTITY.name,
            "offset": [f"gone:{self._writer.head}"],
            "source_ts_ms": 1,
            "ts_ms": 1,
            "table_name": "items",
            "primary_key": [list(ITEMS.primary_key)],
            "before": [encode_row({"id": number})],
            "before_is_key_only": [True],
            "schema_id": ITEMS.schema_id,
        }
        self._append(EventBatch.from_columns(gone))
        del self.wanted[number]

    def _append(self, events: EventBatch) -> None:
        self._writer.append(source_batch(events, self._writer.head + 1))

    def take(self, after: int) -> int:
        """Everything after a sequence number as one micro-batch; where the next one begins."""
        reader = self.spark.read.format("headwater").option("startingSequence", after)
        self.apply(reader.load(str(self.log.path)), 0)
        return self._writer.head

    def held(self) -> dict[int, int]:
        rows = self.table.rows(ITEMS.primary_key)
        assert rows is not None
        found = [(row["id"], row["_headwater_sequence"]) for row in rows.collect()]
        assert len(dict(found)) == len(found)
        return dict(found)

    def changes(self) -> int:
        return self.spark.read.parquet(str(self.target / "items")).count()


def _failing(name: str) -> Callable[[str], None]:
    def failpoint(passed: str) -> None:
        if passed == name:
            raise TransientError("failpoint", name)

    return failpoint


def test_rows_are_those_of_the_log_when_a_snapshot_is_interrupted_anywhere(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch whose snapshot failed comes again, as Spark repeats it, and finishes the snapshot."""
    stock = Stock(spark, tmp_path, SnapshotPolicy(every=1, keep_changes=False))
    assert stock.table.rows(ITEMS.primary_key) is None
    stock.put(1, 2, 3)
    at, first = 0, 0
    steps = [f"spark.parquet.{each}" for each in ("before_snapshot", "before_mark", "after_mark")]
    unwritten = "spark.table.before_write"
    for name in (*steps, unwritten):
        stock.remove(min(stock.wanted))
        stock.put(at + 10, max(stock.wanted))
        with monkeypatch.context() as patched:
            patched.setattr(parquet, "failpoint", _failing(name))
            with pytest.raises(TransientError):
                stock.take(at)
        assert (stock.held() == stock.wanted) is (name != unwritten), name
        at = stock.take(at)
        assert stock.held() == stock.wanted, name
        assert stock.table.snapshots()[-1] == at
        assert stock.table.applied() == at
        first = first or at
    # Those that two snapshots hold are gone, and so are the snapshots before the last two.
    assert len(stock.table.snapshots()) == 2
    assert min(stock.table.batches()) > first


def test_changes_are_all_kept_and_only_the_newest_are_read_when_a_snapshot_is_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    stock = Stock(spark, tmp_path, SnapshotPolicy(every=1))
    stock.put(1, 2)
    at = stock.take(0)
    stock.put(2)
    at = stock.take(at)
    stock.apply = stock.applying(SnapshotPolicy(every=None))
    stock.put(3)
    stock.take(at)
    assert stock.changes() == 4
    assert stock.table.snapshots() == [2, 3]
    # The teeth: what the snapshot holds is not asked for again.
    for until in (2, 3):
        for file in (stock.target / "items" / f"headwater_until={until}").glob("*.parquet"):
            file.unlink()
    assert stock.held() == {1: 1, 2: 3, 3: 4}


def test_folder_takes_wider_types_and_says_when_types_are_unlike_or_the_log_is_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    shapes = ("id:int32#1 qty:int32#2", "id:int64#1 qty:int64#2", "id:int64#1 qty:date#2")
    things = Things(SqliteLog.create(tmp_path / "things.hwlog"), shape(shapes[0]))
    for text, qty in zip(shapes, (5, 1 << 40, "2026-01-02"), strict=True):
        things.becomes(text)
        things.tell(Operation.INSERT, id=len(things.events), qty=qty)
    things.write()
    reader, path = things.log.reader(), str(things.log.path)
    lake = str(tmp_path / "lake")
    apply = AppendLog(lake, reader, reader.log_id, SnapshotPolicy(every=2))

    def frame(until: int) -> DataFrame:
        options = {"startingSequence": until - 1, "endingSequence": until}
        return spark.read.format("headwater").options(**options).load(path)

    apply(frame(1), 0)
    apply(frame(2), 1)
    table = Appended(spark, table_path(lake, THINGS))
    rows = table.rows(["id"])
    assert rows is not None
    assert (table.snapshots(), sorted(row["qty"] for row in rows.collect())) == ([2], [5, 1 << 40])
    with pytest.raises(ConfigError, match="spark-type-changed"):
        AppendLog(lake, reader, reader.log_id, SnapshotPolicy(every=1))(frame(3), 2)
    table.claim(reader.log_id, ["id"])
    with pytest.raises(ConfigError, match="spark-key-changed"):
        table.claim(reader.log_id, ["oid"])
    with pytest.raises(GapError, match="changes of another log"):
        AppendLog(lake, reader, "another")(frame(3), 2)


def test_tables_are_appended_at_once_and_one_that_fails_is_parked(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a parked table retention keeps what it lacks, and later it has each change once."""
    shop, target = open_shop(tmp_path), tmp_path / "lake"
    place, other = "spark:customers@mirror", target / "customers" / "_headwater" / "key-other"
    shop.drain()
    job = TableJob(shop.log.path, str(target), "parquet")
    together = Barrier(2)
    with monkeypatch.context() as patched:
        patched.setattr(parquet, "failpoint", lambda _: together.wait(60))
        head = job.run_once(spark)
    status = job.status()
    assert status.keys() == {"customers@mirror", "orders@mirror"}
    for told in status.values():
        assert (told["sequence"], told["lag_events"], told["parked"]) == (head, 0, None)
        assert told["events"] > 0 < told["seconds"]

    (own,) = other.parent.glob("key-*")
    own.rename(other)
    shop.run("UPDATE customers SET name = 'Adele' WHERE id = 1", "DELETE FROM orders")
    head = shop.drain()
    for _ in range(2):  # the second time with nothing new in the log
        again = TableJob(shop.log.path, str(target), "parquet")
        with pytest.raises(ConfigError, match="spark-key-changed"):
            again.run_once(spark)
        assert again.status()["customers@mirror"]["parked"] == "spark-key-changed"
    assert {cursor.name for cursor in shop.log.info().cursors} == {"spark", place}
    assert shop.log.retain(RetentionPolicy(max_bytes=1)).held_by == place
    assert current_rows(spark, str(target / "orders"), ["region", "number"]).isEmpty()
    with pytest.raises(ConfigError, match="spark-key-changed"):
        TableJob(shop.log.path, str(target), "parquet", on_table_error="halt").run_once(spark)

    other.rename(own)
    assert TableJob(shop.log.path, str(target), "parquet").run_once(spark) == head
    assert [cursor.name for cursor in shop.log.info().cursors] == ["spark"]
    rows = current_rows(spark, str(target / "customers"), ["id"]).where("id < 3").orderBy("id")
    assert [row["name"] for row in rows.select("name").collect()] == ["Adele", 'B"o\n']
    changes = spark.read.parquet(str(target / "customers")).select("_headwater_sequence")
    assert changes.count() == changes.distinct().count()
