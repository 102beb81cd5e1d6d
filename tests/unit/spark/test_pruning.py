"""Ranges of keys: they hold every key, there are few of them, and the widest gaps are left out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.spark.table.delta_files import overlapping
from headwater.spark.table.pruning import spans

_JANUARY = [(date(2020, 1, 1), date(2020, 1, 31))]


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(1, 9))
def test_ranges_hold_every_key_and_leave_out_the_widest_gaps(keys: set[int], most: int) -> None:
    told = sorted(keys)
    ranges = spans(told, most)
    assert len(ranges) == min(most, len(told))
    assert [key for low, high in ranges for key in told if low <= key <= high] == told
    left = [after[0] - before[1] for before, after in pairwise(ranges)]
    gaps = sorted((b - a for a, b in pairwise(told)), reverse=True)
    assert sorted(left, reverse=True) == gaps[: len(left)]


@pytest.mark.parametrize(
    ("keys", "ranges"),
    [
        ([7], [(7, 7)]),
        ([1, 2, 900, 901], [(1, 2), (900, 901)]),
        (
            [date(2020, 1, 1), date(2026, 1, 1), date(2026, 1, 2)],
            [(date(2020, 1, 1), date(2020, 1, 1)), (date(2026, 1, 1), date(2026, 1, 2))],
        ),
        (["a", "z"], [("a", "a"), ("z", "z")]),
        (["a", "m", "z"], [("a", "z")]),
    ],
)
def test_ranges_are_those_that_a_person_would_choose(keys: list[Any], ranges: list[Any]) -> None:
    assert spans(keys, 2) == ranges


@pytest.mark.parametrize(
    ("stats", "ranges", "held"),
    [
        ('{"minValues":{"k":5},"maxValues":{"k":9}}', [(1, 4), (10, 20)], False),
        ('{"minValues":{"k":5},"maxValues":{"k":9}}', [(1, 5)], True),
        ('{"minValues":{"k":5},"maxValues":{"k":9}}', [(9, 9)], True),
        ('{"minValues":{"k":5},"maxValues":{"k":9}}', [], True),
        ('{"minValues":{"k":5},"maxValues":{}}', [(1, 4)], True),
        ('{"minValues":{"k":"2020-02-01"},"maxValues":{"k":"2020-03-01"}}', _JANUARY, False),
        ('{"numRecords":3}', [(1, 4)], True),
        (None, [(1, 4)], True),
    ],
)
def test_files_are_left_out_only_by_bounds_that_say_so(
    stats: str | None, ranges: list[Any], held: bool
) -> None:
    @dataclass
    class File:
        told: str | None

        def stats(self) -> str | None:
            return self.told

    assert ("a" in overlapping({"a": File(stats)}, "k", ranges)) == held
