"""Tables of every mode, kept from one stream, hold what an oracle in plain Python says."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from headwater.event import TableSchema
from headwater.spark.apply.parquet import AppendLog
from headwater.spark.modes import MODES, Mode
from headwater.spark.sql import quoted
from headwater.spark.table import pruning
from headwater.spark.table.layout import (
    COMMITTED_AT,
    CURRENT,
    DELETED_AT,
    DELETED_FLAG,
    OP,
    SEQUENCE,
    TO_SEQUENCE,
    UNAVAILABLE,
    VALID_FROM,
    VALID_TO,
)
from headwater.spark.table.parquet import SnapshotPolicy, current_rows
from headwater.spark.table.path import table_path
from headwater.testing.kept import compared
from tests.docs.markdown import ROOT, blocks
from tests.spark.lake import Lake
from tests.spark.letters import LETTERS
from tests.spark.oracle import Oracle
from tests.spark.permuted import SEEDS, deliver, deliveries, every_mode, tell

pytestmark = pytest.mark.spark


def _ms(name: str) -> str:
    return f"unix_millis({name})"


EXTRA: dict[Mode, tuple[str, ...]] = {
    "mirror": (),
    "soft_delete": (SEQUENCE, DELETED_FLAG, _ms(DELETED_AT)),
    "scd2": (SEQUENCE, _ms(VALID_FROM), TO_SEQUENCE, _ms(VALID_TO), CURRENT),
    "append_log": (SEQUENCE, _ms(COMMITTED_AT), OP, f"sort_array({UNAVAILABLE})"),
}

# A column by which the mode tells something of its own.
TELLING: dict[Mode, str] = {
    "mirror": LETTERS.columns[-1].name,
    "soft_delete": DELETED_AT,
    "scd2": VALID_TO,
    "append_log": UNAVAILABLE,
}


@pytest.fixture
def pruned(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """Tables of a few files are told by ranges of keys all the same."""
    monkeypatch.setattr(pruning, "_WORTH_FILES", 0)
    return spark


class Modal(Lake):
    """With a table of every mode."""

    modes = every_mode()
    table_format = "delta"

    def oracle(self, names: tuple[str, ...]) -> Oracle:
        """The same log, event by event."""
        schemas = [schema for _, schema in self.log.reader().schemas()]
        shapes = {each.schema_id: [column.name for column in each.columns] for each in schemas}
        oracle = Oracle(names, shapes)
        for batch in self.log.reader().read(0, self.head):
            for event in batch:
                oracle.hear(event)
        return oracle

    def held(self, mode: Mode, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
        columns = (*map(quoted, names), *EXTRA[mode])
        return list(map(tuple, self.frame_of(mode).selectExpr(*columns).collect()))

    def frame_of(self, mode: Mode) -> DataFrame:
        path = table_path(self.target, LETTERS.table, mode)
        return self.spark.read.format(self.table_format).load(path)


@pytest.mark.parametrize("seed", SEEDS)
def test_tables_of_every_mode_are_the_same_however_their_events_are_delivered(
    pruned: SparkSession, tmp_path: Path, seed: int
) -> None:
    """INV-10, exactly once: what an oracle in plain Python says, in Delta and as appended Parquet.

    Batches are cut anywhere, with their events in any order and some twice; they overlap, come
    again as after a crash, and come too late.
    """
    chooser = random.Random(seed)
    lake = Modal(pruned, tmp_path)
    schema = tell(lake, chooser).schema
    names = tuple(column.name for column in schema.columns)
    oracle = lake.oracle(names)
    ranges = deliveries(chooser, lake.head)
    deliver(lake, lake.tables(), ranges, seed)
    for mode in MODES:
        wanted: list[tuple[Any, ...]] = getattr(oracle, mode)()
        assert sorted(lake.held(mode, names), key=repr) == sorted(wanted, key=repr), (mode, ranges)
        _assert_compared(lake, mode, schema, oracle)
    _assert_page_answers(lake, oracle)

    folder = str(tmp_path / "parquet")
    deliver(lake, _appending(lake, folder), ranges, seed)
    path = table_path(folder, LETTERS.table)
    rows = current_rows(pruned, path, LETTERS.primary_key).select(*map(quoted, names))
    assert sorted(map(tuple, rows.collect()), key=repr) == sorted(oracle.mirror(), key=repr)
    told = pruned.read.parquet(path).select(SEQUENCE, *map(quoted, LETTERS.primary_key))
    assert told.count() == told.distinct().count(), ranges


def _assert_compared(lake: Modal, mode: Mode, schema: TableSchema, oracle: Oracle) -> None:
    """The users' `assert_converges` sees the same, and in each mode what is wrong."""
    frame = lake.frame_of(mode).localCheckpoint()
    assert not compared(frame, schema, mode, oracle)
    wrong = frame.withColumn(TELLING[mode], f.lit(None).cast(frame.schema[TELLING[mode]].dataType))
    assert "keys differ" in compared(wrong, schema, mode, oracle)


def _assert_page_answers(lake: Modal, oracle: Oracle) -> None:
    """The page's queries by time, at one that two lives of a key share: the clock ran back."""
    page = ROOT / "docs" / "guide" / "scd2.md"
    found = re.search(r"^\| what was at a time \| `(.+)` \|$", page.read_text(), re.MULTILINE)
    assert found is not None
    (newest,) = (block.text for block in blocks(page) if block.language == "sql")
    at_ms, held = max(
        ((time, _held_at(oracle, time)) for time in {each.begin[1] for each in oracle.versions}),
        key=lambda each: max(map(len, each[1].values())),
    )
    assert max(map(len, held.values())) > 1
    lake.frame_of("scd2").createOrReplaceTempView("customer_versions")
    lake.spark.sql(f"DECLARE OR REPLACE VARIABLE t = timestamp_millis({at_ms})")
    for query, wanted in (
        (
            f"SELECT * FROM customer_versions {found[1]}",
            [n for each in held.values() for n in each],
        ),
        (newest.replace("BY id", "BY shelf, id"), [max(each) for each in held.values()]),
    ):
        told = [row[SEQUENCE] for row in lake.spark.sql(query).collect()]
        assert sorted(told) == sorted(wanted), query


def _held_at(oracle: Oracle, time: int) -> dict[str, list[int]]:
    """By key, the versions that held, by the number of the change that made each."""
    held: dict[str, list[int]] = {}
    for each in oracle.versions:
        if each.begin[1] <= time and (each.end is None or time < each.end[1]):
            key = repr([each.row[name] for name in LETTERS.primary_key])
            held.setdefault(key, []).append(each.begin[0])
    return held


def _appending(lake: Modal, folder: str) -> AppendLog:
    reader = lake.log.reader()
    return AppendLog(folder, reader, reader.log_id, SnapshotPolicy(every=2))
