"""Families and their roots, out of pairs of a row that is referred to and a row that refers.

The root of a family is the change that no other caused. What refers is caused by what it refers to;
but where a row is only updated while rows that refer to it come or go, they caused the update: it
is their number that it counts. Where that leaves several, the root is the one row that refers to no
other, and else the first.

Rows are numbers here, and every step goes over them span by span, so that they need not be in
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwater.event import Operation
from headwater.format.cdcformat.family.scratch import Space
from headwater.format.cdcformat.members import Flags, Places

Pairs = Callable[[], Iterable[tuple[Places, Places]]]
"""The rows that are referred to and those that refer, as often as one asks."""

_INSERT, _UPDATE = int(Operation.INSERT), int(Operation.UPDATE)
_SPAN = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """`root` is the number of each row's root, its own where it follows none.

    `gained` tells the rows to which a new row refers.
    """

    root: Places
    gained: Flags


def find_families(ops: npt.NDArray[np.int8], pairs: Pairs, space: Space = np.zeros) -> Families:
    """The families of these rows; `ops` are their operations."""
    count = len(ops)
    label = _components(count, pairs, space)
    refers, caused, gained = (space(count, np.bool_) for _ in range(3))
    for parent, child in pairs():
        counted = (ops[parent] == _UPDATE) & (ops[child] != _UPDATE)
        refers[child] = True
        caused[np.where(counted, parent, child)] = True
        gained[parent[ops[child] == _INSERT]] = True
    root = _numbered(count, space)
    for held_back in (refers, caused):
        _elect(root, label, held_back, space)
    for span in spans(count):
        label[span] = root[label[span]]
    return Families(label, gained)


def spans(count: int) -> Iterator[slice]:
    """Runs that cover so many rows."""
    for start in range(0, count, _SPAN):
        yield slice(start, min(start + _SPAN, count))


def _elect(root: Places, label: Places, held_back: Flags, space: Space) -> None:
    """Where one row alone of a family is not held back, it is the root."""
    tally = space(len(label), np.int64)
    for span in spans(len(label)):
        np.add.at(tally, label[span][~held_back[span]], 1)
    for span in spans(len(label)):
        free = span.start + np.flatnonzero(~held_back[span])
        sole = free[tally[label[free]] == 1]
        root[label[sole]] = sole


def _components(count: int, pairs: Pairs, space: Space) -> Places:
    """The first row of each row's family: labels sink along the references."""
    label = _numbered(count, space)
    moved = True
    while moved:
        moved = False
        for one, other in pairs():
            here, there = label[one], label[other]
            apart = np.flatnonzero(here != there)
            if not len(apart):
                continue
            moved = True
            low = np.minimum(here[apart], there[apart])
            # The labels' own rows sink too: whole families join, not one row at a time.
            for places in (one, other, here, there):
                np.minimum.at(label, places[apart], low)
        while _sink(label):
            pass
    return label


def _sink(label: Places) -> bool:
    moved = False
    for span in spans(len(label)):
        lower = label[label[span]]
        if not np.array_equal(lower, label[span]):
            label[span] = lower
            moved = True
    return moved


def _numbered(count: int, space: Space) -> Places:
    numbers: Places = space(count, np.int64)
    for span in spans(count):
        numbers[span] = np.arange(span.start, span.stop)
    return numbers
