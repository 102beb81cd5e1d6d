"""Tables of every mode, kept from one stream, hold what an oracle in plain Python says."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark.modes import MODES, Mode, Modes
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
from headwater.spark.table.path import table_path
from tests.spark.lake import Lake
from tests.spark.letters import LETTERS, Letters
from tests.spark.oracle import Oracle

pytestmark = pytest.mark.spark


def _ms(name: str) -> str:
    return f"unix_millis({name})"


SEEDS = range(1, 1 + int(os.environ.get("HEADWATER_SEEDS", "1")))
EXTRA: dict[Mode, tuple[str, ...]] = {
    "mirror": (),
    "soft_delete": (SEQUENCE, DELETED_FLAG, _ms(DELETED_AT)),
    "scd2": (SEQUENCE, _ms(VALID_FROM), TO_SEQUENCE, _ms(VALID_TO), CURRENT),
    "append_log": (SEQUENCE, _ms(COMMITTED_AT), OP, f"sort_array({UNAVAILABLE})"),
}


@pytest.fixture
def interpreted(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    """Tables of a few rows: compiling each plan would take far longer than running it.

    And of a few files, which are told by ranges of keys all the same.
    """
    monkeypatch.setattr(pruning, "_WORTH_FILES", 0)
    compiled = "spark.sql.codegen.wholeStage"
    spark.conf.set(compiled, "false")
    yield spark
    spark.conf.unset(compiled)


class Modal(Lake):
    """With a table of every mode."""

    modes = Modes(chosen=dict.fromkeys(MODES, ("public.l*",)))
    table_format = "delta"

    def oracle(self, names: tuple[str, ...]) -> Oracle:
        """The same log, event by event."""
        oracle = Oracle(names)
        for batch in self.log.reader().read(0, self.head):
            for event in batch:
                oracle.hear(event)
        return oracle

    def held(self, mode: Mode, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
        path = table_path(self.target, LETTERS.table, mode)
        frame = self.spark.read.format(self.table_format).load(path)
        return list(map(tuple, frame.selectExpr(*map(quoted, names), *EXTRA[mode]).collect()))


@pytest.mark.parametrize("seed", SEEDS)
def test_table_equals_the_oracle_in_every_mode_when_histories_and_batches_are_random(
    interpreted: SparkSession, tmp_path: Path, seed: int
) -> None:
    """INV-10, exactly once. Batches overlap and come again, as after a crash."""
    chooser = random.Random(seed)
    lake, letters = Modal(interpreted, tmp_path), Letters(chooser)
    heads = [0]
    for turn in (Letters.widen, _emptied_twice):
        _live(letters, chooser.choice((20, 40)), turn)
        lake.append(letters)
        lake.apply(chooser.choice(heads[-2:]))
        heads.append(lake.head)
    lake.apply(chooser.choice(heads[:-1]))
    names = tuple(column.name for column in letters.schema.columns)
    oracle = lake.oracle(names)
    for mode in MODES:
        wanted: list[tuple[Any, ...]] = getattr(oracle, mode)()
        assert sorted(lake.held(mode, names), key=repr) == sorted(wanted, key=repr), mode


def _emptied_twice(letters: Letters) -> None:
    for _ in range(2):
        letters.truncate()
        _live(letters, letters.waiting + 6)


def _live(letters: Letters, events: int, turn: Callable[[Letters], None] | None = None) -> None:
    """So many events, with something special in the middle."""
    while letters.waiting < events // 2:
        letters.step()
    if turn is not None:
        turn(letters)
    while letters.waiting < events:
        letters.step()
