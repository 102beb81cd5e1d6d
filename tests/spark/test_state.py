"""Published sets of tables: whole transactions only, and enough to make a lost checkpoint anew."""

import os
import random
import shutil
import sqlite3
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.spark import TableJob, as_of
from headwater.app.spark.checkpoint import rebuild, survey
from headwater.app.spark.presence import Presence
from headwater.errors import GapError, HeadwaterError, StateError
from headwater.log import RetentionPolicy, SqliteLog
from headwater.spark.modes import Modes
from headwater.spark.query import RunningStream
from headwater.spark.state.entry import Reached
from headwater.spark.state.publish import Finished, Publication
from headwater.spark.state.store import store_of
from headwater.spark.state.table import StateTable, Writer
from tests.integration.cli.conftest import Cli
from tests.shop import Shop

pytestmark = pytest.mark.spark

TOTAL = 1000
Rows = list[tuple[int, int]]


@dataclass
class Bank:
    """Money goes between two tables, a transaction at a time; what was when is remembered."""

    shop: Shop
    chooser: random.Random
    # By the log's head: the rows of both tables then.
    was: dict[int, tuple[Rows, Rows]] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, seed: int) -> "Bank":
        path = folder / "bank.db"
        db = sqlite3.connect(path)
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(
            "CREATE TABLE giro (id INTEGER PRIMARY KEY, money INTEGER);"
            "CREATE TABLE savings (id INTEGER PRIMARY KEY, money INTEGER);"
            "CREATE TABLE quiet (id INTEGER PRIMARY KEY, money INTEGER);"
        )
        bank = cls(Shop(db, path, SqliteLog(folder / "bank.hwlog")), random.Random(seed))
        bank.shop.drain()  # nothing is there for a snapshot, which would show no transactions
        bank.commit(
            "INSERT INTO quiet VALUES (1, 1)",
            f"INSERT INTO giro VALUES (1, {TOTAL // 2}), (2, 0)",
            f"INSERT INTO savings VALUES (1, {TOTAL // 2})",
        )
        return bank

    def commit(self, *statements: str) -> int:
        self.shop.run(*statements)
        head = self.shop.drain()
        self.was[head] = (self._rows("giro"), self._rows("savings"))
        return head

    def transfer(self) -> int:
        here, there = self.chooser.sample(["giro", "savings"], 2)
        sum_, id_ = self.chooser.randint(1, 50), self.chooser.randint(1, 4)
        return self.commit(
            f"UPDATE {here} SET money = money - {sum_} WHERE id = 1",
            f"INSERT INTO {there} VALUES ({id_}, {sum_})"
            f" ON CONFLICT (id) DO UPDATE SET money = money + {sum_}",
        )

    def _rows(self, table: str) -> Rows:
        return self.shop.db.execute(f"SELECT id, money FROM {table} ORDER BY id").fetchall()


def _held(spark: SparkSession, target: str, sequence: int | None = None) -> tuple[Rows, Rows]:
    found = as_of(spark, target, sequence)
    giro, savings = (
        sorted((row["id"], row["money"]) for row in found.frame(table).collect())
        for table in ("giro", "savings")
    )
    return giro, savings


def _published(spark: SparkSession, target: str) -> list[int]:
    rows = spark.read.format("delta").load(f"{target}/_headwater/state").where("published")
    return sorted(row["sequence"] for row in rows.select("sequence").distinct().collect())


def _code(call: Any) -> str:
    with pytest.raises(HeadwaterError) as caught:
        call()
    return caught.value.code


def test_published_set_equals_the_source_at_its_sequence(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-7 for readers: money is never between two tables, whatever the batches cut."""
    bank = Bank.open(tmp_path, seed=7)
    for _ in range(3):
        bank.transfer()
    job = TableJob(bank.shop.log.path, str(tmp_path / "lake"), max_events=4)
    head = job.run_once(spark)
    published = _published(spark, job.target)
    assert published[-1] == head
    assert len(published) >= 3
    # A published position is a transaction's end: the source was there. test_prefixes.py reads all.
    assert set(published) <= bank.was.keys()
    assert _held(spark, job.target, published[1]) == bank.was[published[1]]
    between = published[-1] - 1
    assert as_of(spark, job.target, between).sequence == published[-2]
    newest = as_of(spark, job.target)
    assert newest.create_views("then_") == ("then_giro", "then_quiet", "then_savings")
    assert spark.sql("SELECT sum(money) FROM then_giro").collect()
    assert _code(lambda: as_of(spark, job.target, published[0] - 1)) == "as-of-before"
    assert _code(lambda: as_of(spark, job.target, head + 1)) == "as-of-after"
    assert _code(lambda: as_of(spark, str(tmp_path / "nowhere"))) == "as-of-none"
    assert _code(lambda: newest.frame("giro", "scd2")) == "as-of-table"
    _command_prints_the_same_tables(spark, job, tmp_path, between)
    _replay_publishes_nothing(spark, bank, job)
    _vacuumed_version_is_told(spark, bank, job)


def _command_prints_the_same_tables(
    spark: SparkSession, job: TableJob, folder: Path, sequence: int
) -> None:
    """`spark as-of --sql`, and what a reader sees who runs what it prints."""
    said = _cli(folder)("spark", "as-of", "bank.yaml", f"{sequence}", "--sql", timeout_s=300)
    statements = [line.removesuffix(";") for line in said.out.splitlines()]
    found = as_of(spark, job.target, sequence)
    assert (said.code, len(statements)) == (0, len(found.tables)), said.err
    for statement, each in zip(statements, found.tables, strict=True):
        spark.sql(statement)
        assert spark.table(each.view).collect() == found.frame(each.table).collect()
        assert spark.catalog.dropTempView(each.view)


def _cli(folder: Path) -> Cli:
    """Commands beside the bank, with a configuration that asks for what the jobs here do."""
    (folder / "bank.yaml").write_text(
        "version: 1\nname: bank\nsource: {url: 'sqlite:///bank.db'}\n"
        "log: {path: bank.hwlog}\nspark: {target: lake}\n"
    )
    return Cli(folder)


def _replay_publishes_nothing(spark: SparkSession, bank: Bank, job: TableJob) -> None:
    """Other cuts of the same events, from the start: tables and state skip what they have."""
    rows = spark.read.format("delta").load(f"{job.target}/_headwater/state")
    before = rows.count()
    shutil.rmtree(job.checkpoint)
    bank.shop.log.rewind("spark", 0)
    head = replace(job, max_events=7).run_once(spark)
    again = spark.read.format("delta").load(f"{job.target}/_headwater/state")
    assert again.count() == before
    assert _held(spark, job.target, head) == bank.was[head]


def test_set_has_only_the_tables_that_the_stream_keeps(spark: SparkSession, tmp_path: Path) -> None:
    """Else it would show as it was, for ever, what nobody keeps any more or another stream does."""
    bank = Bank.open(tmp_path, seed=3)
    job = TableJob(bank.shop.log.path, str(tmp_path / "lake"))
    first = job.run_once(spark)
    bank.transfer()
    fewer = replace(job, tables=("giro", "quiet"))
    head = fewer.run_once(spark)
    assert [each.table for each in as_of(spark, job.target).tables] == ["giro", "quiet"]
    assert len(as_of(spark, job.target, first).tables) == 3
    other = replace(fewer, consumer="other")
    other.run_once(spark)
    now = as_of(spark, job.target, consumer="other")
    assert (now.sequence, [each.table for each in now.tables]) == (head, ["giro", "quiet"])
    # Named again, it lacks what came meanwhile, and is brought after the stream.
    place = next(each for each in survey(spark, job).places if each.table.name == "savings")
    assert (place.apart, place.complete) == (True, first)
    assert survey(spark, job).faults() == survey(spark, fewer).faults() == []
    head = bank.transfer()
    assert job.run_once(spark) == head
    assert _held(spark, job.target) == bank.was[head]


def _vacuumed_version_is_told(spark: SparkSession, bank: Bank, job: TableJob) -> None:
    first, head = _published(spark, job.target)[0], max(bank.was)
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    spark.conf.set(check, "false")
    try:
        spark.sql(f"OPTIMIZE delta.`{job.target}/giro`")
        spark.sql(f"VACUUM delta.`{job.target}/giro` RETAIN 0 HOURS")
    finally:
        spark.conf.unset(check)
    with pytest.raises(GapError) as caught:
        as_of(spark, job.target, first)
    assert caught.value.code == "as-of-gone"
    # The newest set has lost no row: its versions are gone, and later ones have the same.
    assert _held(spark, job.target) == bank.was[head]
    # The next set stands on versions that are there.
    after = bank.transfer()
    job.run_once(spark)
    assert after > head
    assert _held(spark, job.target) == bank.was[after]
    _quiet_table_stays(spark, bank, job, after)


def _quiet_table_stays(spark: SparkSession, bank: Bank, job: TableJob, head: int) -> None:
    """Delta refuses versions whose commit is old, unless they are the newest."""
    for name in ("giro", "savings", "quiet"):
        for file in Path(job.target, name, "_delta_log").iterdir():
            if file.is_file():
                os.utime(file, (time.time() - 30 * 86_400,) * 2)
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    spark.sql(f"ALTER TABLE delta.`{job.target}/savings` SET TBLPROPERTIES ('its' = 'owner')")
    # A batch that has come as far as this, and has published nothing yet.
    spark.sql(f"DELETE FROM delta.`{job.target}/giro`")
    assert _held(spark, job.target) == bank.was[head]


def test_publication_is_withheld_while_tables_are_out_of_step(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A table that is parked, or went ahead before a crash, makes no half transaction visible."""
    from headwater.event import TableId

    location = str(tmp_path / "lake")

    def at(name: str, version: int, applied: int) -> Reached:
        return Reached(TableId(None, name), "mirror", f"{location}/{name}", version, applied)

    steps: tuple[tuple[int, list[Reached], bool], ...] = (
        (10, [at("a", 1, 10), at("b", 1, 10)], True),
        (20, [at("a", 2, 20), at("b", 1, 10)], False),  # b is parked
        (30, [at("a", 3, 30)], False),
        (40, [at("b", 5, 60)], False),  # b came back, and had gone on to 60
        (50, [], False),
        (60, [at("a", 4, 60)], True),
        (70, [], True),
        (70, [at("a", 4, 60), at("c", 1, 70)], True),  # c was switched in by a batch without events
    )
    whole = Publication(location, Writer("log", "whole"))
    loose = Publication(location, Writer("log", "loose"), whole_only=False)
    for until, reached, _ in steps:
        # Another driver takes over in the middle: what it must know stands in the table.
        if until == 30:
            whole = Publication(location, Writer("log", "whole"))
        for publication in (whole, loose):
            publication(spark, Finished(until, 0, reached), Modes())
            publication(spark, Finished(until, 0, reached), Modes())
    rows = spark.read.format("delta").load(f"{location}/_headwater/state").collect()
    shown = {row["sequence"]: row["published"] for row in rows if row["consumer"] == "whole"}
    assert shown == {until: published for until, _, published in steps}
    assert all(row["published"] for row in rows if row["consumer"] == "loose")
    assert len(rows) == 2 * 10
    last = StateTable(store_of("delta", spark, location), Writer("log", "whole")).written().last
    assert {entry.table.name: entry.version for entry in last} == {"a": 4, "b": 5, "c": 1}


def _corrupted(job: TableJob) -> str:
    """The newest offsets, half written."""
    folder = Path(job.checkpoint) / "offsets"
    newest = max(
        (file for file in folder.iterdir() if file.name.isdigit()), key=lambda f: int(f.name)
    )
    newest.write_bytes(newest.read_bytes()[:40])
    (folder / f".{newest.name}.crc").unlink()
    return f"offsets/{newest.name}"


def test_checkpoint_is_rebuilt_from_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    bank = Bank.open(tmp_path, seed=8)
    job = TableJob(bank.shop.log.path, str(tmp_path / "lake"), max_events=5)
    assert _code(lambda: rebuild(spark, job, really=True)) == "spark-nothing-applied"
    head = job.run_once(spark)
    sound = survey(spark, job)
    assert sound.faults() == []
    assert (sound.begins, sound.safe) == (head, head)

    # A broken file is named, the stream cannot start, and rebuilding repairs it.
    broken = _corrupted(job)
    found = survey(spark, job)
    assert [each.file for each in found.checkpoint.problems] == [broken]
    said = _cli(tmp_path)("spark", "checkpoint", "inspect", "bank.yaml", "--json", timeout_s=300)
    assert (said.code, said.json()["result"]) == (1, found.as_dict())
    after = bank.transfer()
    with pytest.raises(Exception, match=r".+"):
        job.run_once(spark)
    assert not rebuild(spark, job, really=False)["done"]
    assert survey(spark, job).checkpoint.problems
    done = rebuild(spark, job, really=True)
    assert done["begins_after"] == head
    assert Path(done["moved_to"]).is_dir()
    assert survey(spark, job).faults() == []
    assert job.run_once(spark) == after
    assert _held(spark, job.target) == bank.was[after]

    _cursor_ahead_and_lost(spark, bank, job)
    _running_stream_is_seen(spark, job)
    _gap_is_told(spark, bank, job)


def _cursor_ahead_and_lost(spark: SparkSession, bank: Bank, job: TableJob) -> None:
    """The checkpoint is gone and the cursor says more than is true, or nothing at all."""
    for lost in (False, True):
        shutil.rmtree(job.checkpoint)
        after = bank.transfer()
        log = bank.shop.log
        before = survey(spark, job).safe
        if lost:
            log.remove_cursor("spark")
        else:
            cursor = log.cursor("spark", required=True)
            cursor.ack(after)
            cursor.close()
            assert "would begin" in survey(spark, job).faults()[0]
        assert rebuild(spark, job, really=True)["begins_after"] == before
        assert {each.name: each.acked for each in log.info().cursors} == {"spark": before}
        assert job.run_once(spark) == after
        assert _held(spark, job.target) == bank.was[after]


def _running_stream_is_seen(spark: SparkSession, job: TableJob) -> None:
    stream: RunningStream = replace(job, interval_s=1.0).start(spark)
    try:
        with pytest.raises(StateError) as caught:
            rebuild(spark, job, really=True)
        assert caught.value.code == "spark-stream-running"
    finally:
        stream.stop()
    with Presence(Path(job.log_path), job.consumer).alone():
        pass


def _gap_is_told(spark: SparkSession, bank: Bank, job: TableJob) -> None:
    """A table is gone, and the log no longer holds its events."""
    log = bank.shop.log
    assert log.retain(RetentionPolicy(max_age_ms=0)).removed_events
    assert survey(spark, job).faults() == []
    shutil.rmtree(f"{job.target}/quiet")
    with pytest.raises(GapError) as caught:
        rebuild(spark, job, really=True)
    assert caught.value.code == "spark-checkpoint-gap"
    assert "quiet" in caught.value.message
    assert Path(job.checkpoint).is_dir()
