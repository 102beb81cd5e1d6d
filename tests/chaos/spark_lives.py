"""Lives of tables whose drivers are killed, in any format.

A JVM start is dear, so tables have a long life: their driver is killed at one failpoint after
another, each time with new changes in between; the test itself brings them to the end. Only where
tables are new does each kill have tables of its own: those that an earlier one left half-made are
not new any more.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.app.spark import TableFormat
from headwater.spark.modes import MODES, Mode
from tests.chaos.scenario import Kill, Nursery
from tests.chaos.spark_places import PLACES, kills
from tests.chaos.spark_scenario import Drivers, Mirrored, followed, mirrored

# Of a load, while rows are still owed: on Spark 4.1, which has one batch in a run, too.
BEGINNING = ("spark.load.before_append", "spark.load.after_append")


@dataclass(frozen=True)
class Lives:
    """Of tables of one format, with one seed: all of them in every mode, or fewer to be quick."""

    table_format: TableFormat
    session: SparkSession
    arena: Path
    seed: int = 1
    tables: tuple[str, ...] = ()
    modes: tuple[Mode, ...] = MODES

    def of_new_tables(self, workers: Nursery) -> None:
        """A life for each place of new tables; the last goes on to all places of older ones."""
        chooser, places = random.Random(self.seed), PLACES[self.table_format]
        first = kills(places.first, chooser)
        middle, *more = kills(chooser.sample(places.middle, len(places.middle)), chooser)
        later = [replace(middle, hit=1), *more, *kills(places.last, chooser)]
        for number, kill in enumerate(first):
            directory = self.arena / str(number)
            directory.mkdir()
            with mirrored(workers, directory, self.seed, self.table_format) as mirror:
                mirror.advance()
                mirror.kill(kill)
                self._ends_well(mirror, kill)
                if kill is first[-1]:
                    self._outlives(mirror, later)

    def of_loaded_tables(self, workers: Nursery, load: Sequence[str]) -> None:
        """One load has a long life: what is killed at one step goes on to the next."""
        with mirrored(workers, self.arena, self.seed, self.table_format) as mirror:
            self._narrow(mirror)
            mirror.begin_load()
            for name in BEGINNING:
                if name in load:
                    mirror.kill(Kill(name))
            mirror.end_load()
            for name in load:
                if name not in BEGINNING:
                    mirror.kill(Kill(name))
            self._ends_well(mirror, load)

    def of_parts_of_rows(self, killed: Sequence[Kill], *, standing: bool = False) -> None:
        """Updates leave columns out; the first kill is of new tables if none is standing."""
        with followed(self.arena, self.seed, self.table_format) as history:
            self._narrow(history)
            if standing:
                history.advance()
                history.finish(self.session)
            self._outlives(history, killed)

    def with_a_bug(self, plant: str) -> list[str]:
        """What is wrong when a driver with a bug was killed where only the bug leaves a window."""
        with followed(self.arena, self.seed, self.table_format) as history:
            self._narrow(history)
            history.advance()
            history.finish(self.session)
            history.advance()
            history.kill(Kill("plant.window"), plant)
            history.advance()
            history.finish(self.session)
            return history.differences(self.session)

    def _narrow(self, drivers: Drivers) -> None:
        drivers.tables, drivers.modes = self.tables, self.modes

    def _outlives(self, drivers: Drivers, killed: Sequence[Kill]) -> None:
        for kill in killed:
            if isinstance(drivers, Mirrored):
                _alter(drivers, kill.failpoint)
            drivers.advance()
            drivers.kill(kill)
        self._ends_well(drivers, killed)

    def _ends_well(self, drivers: Drivers, after: object) -> None:
        drivers.advance()
        drivers.finish(self.session)
        found = drivers.differences(self.session)
        assert not found, f"{after}: {found}"


def _alter(mirror: Mirrored, failpoint: str) -> None:
    if failpoint == "spark.table.before_alter":
        mirror.workload.alter()
    if failpoint == "spark.table.after_alter":
        mirror.workload.rename()
