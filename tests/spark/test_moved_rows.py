"""Rows that change their key without their long values arrive whole, however batches are cut."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.spark.sql import quoted
from headwater.spark.table.path import table_path
from tests.spark.lake import Lake
from tests.spark.letters import Letters
from tests.spark.permuted import SEEDS

pytestmark = pytest.mark.spark


class Mirrored(Lake):
    """With what the mirror holds."""

    def held(self, letters: Letters) -> dict[int, tuple[Any, ...]]:
        path = table_path(self.target, letters.schema.table)
        names = [quoted(column.name) for column in letters.schema.columns[1:]]
        rows = self.spark.read.format("delta").load(path).select(*names).collect()
        found = {row[0]: tuple(row)[1:] for row in rows}
        assert len(found) == len(rows)
        return found


def _chain(t: Letters, n: int) -> None:
    t.move(n, n + 1)
    t.move(n + 1, n + 2, "views")
    t.move(n + 2, n + 3)


def _swap(t: Letters, n: int) -> None:
    t.insert(n + 1)
    t.move(n, n + 2)
    t.move(n + 1, n)
    t.move(n + 2, n + 1)


def _swap_of_old_rows(t: Letters, n: int) -> None:
    t.move(n, n + 9)
    t.move(n + 5, n)
    t.move(n + 9, n + 5)


def _there_and_back(t: Letters, n: int) -> None:
    t.move(n, n + 1)
    t.move(n + 1, n)


def _move_then_update(t: Letters, n: int) -> None:
    t.move(n, n + 1)
    t.update(n + 1, "views")
    t.update(n + 1, "body")


def _update_then_move(t: Letters, n: int) -> None:
    t.update(n, "body")
    t.move(n, n + 1)


def _move_then_delete(t: Letters, n: int) -> None:
    t.move(n, n + 1)
    t.delete(n + 1)


def _old_key_used_again(t: Letters, n: int) -> None:
    t.move(n, n + 1)
    t.insert(n)
    t.update(n, "views")


def _onto_a_deleted_key(t: Letters, n: int) -> None:
    t.delete(n + 5)
    t.move(n, n + 5)


def _insert_then_move(t: Letters, n: int) -> None:
    t.insert(n + 1)
    t.move(n + 1, n + 2, "views")


def _reused_key_moves_too(t: Letters, n: int) -> None:
    t.move(n, n + 1)
    t.insert(n)
    t.move(n, n + 2)


def _whole_move_then_partial(t: Letters, n: int) -> None:
    t.move(n, n + 1, "body", "a.side", "views")
    t.move(n + 1, n + 2)


def _unknown_row_onto_a_deleted_key(t: Letters, n: int) -> None:
    t.older(n + 1)
    t.delete(n)
    t.move(n + 1, n)
    t.update(n, "views")


def _unknown_row_onto_a_key_of_before(t: Letters, n: int) -> None:
    t.insert(n + 1)
    t.delete(n + 1)
    t.older(n + 2)
    t.move(n + 2, n + 1)


def _unknown_row_where_one_was_deleted(t: Letters, n: int) -> None:
    t.delete(n)
    t.older(n)
    t.update(n, "views")


def _unknown_row_told_in_parts(t: Letters, n: int) -> None:
    t.older(n + 1)
    t.update(n + 1, "body")
    t.update(n + 1, "a.side")


def _unknown_row_onto_a_lost_one(t: Letters, n: int) -> None:
    t.older(n + 1)
    t.lose(n)
    t.move(n + 1, n)


def _unknown_row_is_read_later(t: Letters, n: int) -> None:
    t.older(n + 1)
    t.move(n + 1, n + 2)
    t.read(n + 2)
    t.move(n + 2, n + 3)


STORIES: tuple[Callable[[Letters, int], None], ...] = (
    _chain,
    _swap,
    _swap_of_old_rows,
    _there_and_back,
    _move_then_update,
    _update_then_move,
    _move_then_delete,
    _old_key_used_again,
    _onto_a_deleted_key,
    _insert_then_move,
    _reused_key_moves_too,
    _whole_move_then_partial,
    _unknown_row_onto_a_deleted_key,
    _unknown_row_onto_a_key_of_before,
    _unknown_row_where_one_was_deleted,
    _unknown_row_told_in_parts,
    _unknown_row_onto_a_lost_one,
    _unknown_row_is_read_later,
)


def test_moved_row_keeps_its_long_values_when_nothing_sends_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    """INV-10. Each story has ten numbers of its own; rows stand at the first and the sixth."""
    lake, letters = Mirrored(spark, tmp_path), Letters(random.Random(1))
    for place in range(len(STORIES)):
        letters.insert(place * 10)
        letters.insert(place * 10 + 5)
    lake.append(letters)
    lake.apply(0)
    assert lake.held(letters) == letters.settle()
    for place, story in enumerate(STORIES):
        story(letters, place * 10)
    lake.append(letters)
    lake.apply(0)
    held, wanted = lake.held(letters), letters.settle()
    numbers = held.keys() | wanted.keys()
    wrong = {STORIES[n // 10].__name__ for n in numbers if held.get(n) != wanted.get(n)}
    assert wrong == set()


@pytest.mark.parametrize("seed", SEEDS)
def test_table_equals_the_source_when_histories_and_batches_are_random(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """INV-10. The batches overlap, as after a crash."""
    chooser = random.Random(seed)
    lake, letters = Mirrored(spark, tmp_path), Letters(chooser)
    for number in range(60):
        letters.older(number * 3)
    heads = [0]
    for turn in (None, _begin_anew, Letters.widen, None):
        _live(letters, chooser.choice((200, 600)), turn)
        lake.append(letters)
        lake.apply(chooser.choice(heads[-2:]))
        heads.append(lake.head)
        assert lake.held(letters) == letters.settle()


def _begin_anew(letters: Letters) -> None:
    """What a gap can lead to: the table is emptied, and its snapshot comes by and by."""
    letters.truncate()
    for number in range(0, 120, 2):
        letters.older(number)


def _live(letters: Letters, events: int, turn: Callable[[Letters], None] | None) -> None:
    """So many events, with something special in the middle."""
    while letters.waiting < events // 2:
        letters.step()
    if turn is not None:
        turn(letters)
    while letters.waiting < events:
        letters.step()
