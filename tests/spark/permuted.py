"""The ways in which one history can be delivered: each of them must lead to the same tables."""

from __future__ import annotations

import os
import random
from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from headwater.spark.apply.records import events_once
from headwater.spark.modes import MODES, Modes
from tests.spark.lake import Lake
from tests.spark.letters import Letters

# HEADWATER_SEEDS says how many histories are told.
SEEDS = range(1, 1 + int(os.environ.get("HEADWATER_SEEDS", "1")))
# After one sequence number up to another.
Range = tuple[int, int]


def deliveries(chooser: random.Random, head: int) -> list[Range]:
    """Batches that lead to the head: cut anywhere, overlapping, repeated at once and too late."""
    cuts = [0, *sorted(chooser.sample(range(1, head), 2)), head]
    told: list[Range] = []
    for place, until in enumerate(cuts[1:], start=1):
        told.append((chooser.choice(cuts[:place]), until))
        if chooser.random() < 0.5:
            told.append((chooser.choice(cuts[:place]), until))
    told.insert(-1, told[0])
    return [*told, (0, head)]


def mixed(frame: DataFrame, seed: int) -> DataFrame:
    """The events of a batch in any order, some of them twice, taken as those of a topic are."""
    again = frame.where(f.pmod(f.hash("sequence_number"), f.lit(3)) == 0)
    return events_once(frame.unionAll(again).orderBy(f.rand(seed)))


def tell(lake: Lake, chooser: random.Random) -> Letters:
    """A history: rows come, change, move and go; a column comes; the table is emptied twice."""
    letters = Letters(chooser)
    for turn in (Letters.widen, _emptied_twice):
        _live(letters, chooser.choice((20, 40)), turn)
    lake.append(letters)
    return letters


def deliver(
    lake: Lake, apply: Callable[[DataFrame, int], None], ranges: list[Range], seed: int
) -> None:
    for number, (after, until) in enumerate(ranges):
        apply(mixed(lake.frame(after, until), seed + number), number)


def every_mode() -> Modes:
    return Modes(chosen=dict.fromkeys(MODES, ("public.l*",)))


def _emptied_twice(letters: Letters) -> None:
    for _ in range(2):
        letters.truncate()
        _live(letters, 6)


def _live(letters: Letters, events: int, turn: Callable[[Letters], None] | None = None) -> None:
    """So many events more, with something special in the middle."""
    until = letters.waiting + events
    while letters.waiting < until - events // 2:
        letters.step()
    if turn is not None:
        turn(letters)
    while letters.waiting < until:
        letters.step()
