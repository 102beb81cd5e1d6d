"""A table that changes while it is being loaded, in any format: the scenario and its promises."""

from __future__ import annotations

import random
from abc import abstractmethod
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import TransientError
from headwater.spark.modes import Mode, Modes
from headwater.spark.proof.applied import AppliedTables
from tests.spark.letters import LETTERS, OTHERS, Letters
from tests.spark.test_modes import Modal

OWED = (LETTERS.table,)


def kept_as(*modes: Mode) -> Modes:
    return Modes(chosen=dict.fromkeys(modes, ("letters",)))


class Loading(Modal):
    """A lake whose only table is being read while it changes."""

    modes = kept_as("mirror", "soft_delete", "scd2")

    @property
    def loaded(self) -> tuple[Mode, ...]:
        return tuple(self.modes.chosen)

    def standing(self, mode: Mode) -> int | None:
        targets = self.targets(self.target, self.log.reader().log_id)
        return targets.open(self.spark, LETTERS.table, mode).standing().version

    @abstractmethod
    def assert_only_added(self, mode: Mode) -> None:
        """What is not seen yet was made by appends."""

    @abstractmethod
    def assert_switched_in(self, mode: Mode) -> None:
        """The table began with all of its rows, and nothing is left of the load."""

    @abstractmethod
    def was_loaded(self, mode: Mode) -> bool:
        """Whether the table was loaded beside itself."""

    @abstractmethod
    def tidy(self, mode: Mode) -> None:
        """Have the files removed that the table does not need."""

    @abstractmethod
    def has_merged(self, mode: Mode) -> bool:
        """Whether the last batch was merged."""

    def assert_half_is_hidden(self) -> None:
        """Neither a reader nor a comparison finds a table; the load has only added."""
        targets = self.targets(self.target, self.log.reader().log_id)
        applied = AppliedTables(self.spark, self.target, targets, Modes())
        with pytest.raises(TransientError, match="still being loaded"):
            applied.read(LETTERS)
        for mode in self.loaded:
            assert self.standing(mode) is None
            self.assert_only_added(mode)


def load_in_parts(lake: Loading, chooser: random.Random, directory: Path) -> None:
    """INV-10, exactly once: each batch comes to a new process, some of them again.

    Rows are read that were changed, moved and deleted before and after; some are read twice; the
    source begins anew once; a column is added; the last chunk is empty.
    """
    letters = Letters(chooser)
    for number in range(0, 400, 2):
        letters.older(number)
    read(letters, list(range(0, 40, 2)))
    live(letters, 20)
    lake.append(letters, OWED)
    lake.apply(0)
    lake.assert_half_is_hidden()

    heads = [0, lake.head]
    letters.truncate()
    for number in range(0, 200, 2):
        letters.older(number)
    for chunk in range(2):
        live(letters, chooser.randint(5, 30))
        if chunk:
            letters.widen()
        every = sorted(letters.rows)
        half = len(every) // 2
        read(letters, every[chunk * half : (chunk + 1) * half + 3])
        live(letters, chooser.randint(5, 30))
        if chunk:
            read(letters, [each for each, row in letters.rows.items() if not _heard(letters, row)])
        lake.append(letters, OWED)
        lake.apply(chooser.choice(heads[-2:]))
        heads.append(lake.head)
    lake.assert_half_is_hidden()

    lake.settle()
    lake.apply(lake.head)
    names = tuple(column.name for column in letters.schema.columns)
    whole = letters.settle()
    assert len(whole) == len(letters.rows)
    held = {row[1]: row[2:] for row in lake.held("mirror", names)}
    assert held == whole
    for mode in lake.loaded:
        lake.assert_switched_in(mode)

    other = str(directory / "other")
    lake.apply(0, other)
    here, lake.target = lake.target, other
    wanted = {mode: lake.held(mode, names) for mode in lake.loaded}
    assert not lake.was_loaded("mirror"), "one batch is filled at once"
    lake.target = here
    for mode in lake.loaded:
        assert sorted(lake.held(mode, names), key=repr) == sorted(wanted[mode], key=repr), mode

    _assert_it_goes_on(lake, letters, names)


def live(letters: Letters, events: int) -> None:
    """Anything but reads: those come in chunks."""
    until = letters.waiting + events
    while letters.waiting < until:
        if letters.chooser.random() < 0.3 and letters.rows:
            number = letters.chooser.choice(list(letters.rows))
            letters.update(number, *letters.chooser.sample(OTHERS, 1))
        else:
            letters.step()


def read(letters: Letters, numbers: list[int]) -> None:
    for number in numbers:
        letters.read(number)


def _heard(letters: Letters, row: Any) -> bool:
    return bool(row.heard.issuperset(column.name for column in letters.schema.columns[2:]))


def _assert_it_goes_on(lake: Loading, letters: Letters, names: tuple[str, ...]) -> None:
    """The table is like any other: changes are merged, old batches are known, tidying is safe."""
    before = lake.head
    live(letters, 10)
    lake.append(letters)
    lake.apply(before)
    assert lake.has_merged("mirror")
    lake.tidy("mirror")
    assert {row[1]: row[2:] for row in lake.held("mirror", names)} == letters.settle()
