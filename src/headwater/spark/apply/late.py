"""Tables that lack events which their stream has passed, found out and brought after it.

A table may be newly kept though its events have long gone by: `tables` or a mode did not name it.
It may also have been removed, or set back to a copy. Either way its own position tells from where
it needs the log, and it goes there as a parked table does, with a place that retention waits for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import SparkSession

from headwater.contract import TableHistory
from headwater.spark.apply.job import Job, SetBackError
from headwater.spark.apply.parking import Parking, Stay
from headwater.spark.modes import Modes, name_of
from headwater.spark.state.entry import Key, latest, nothing_until
from headwater.spark.state.positions import newly_kept, resumes
from headwater.spark.state.publish import Publication
from headwater.spark.state.table import Written
from headwater.spark.table.target import Standing, Targets, taken_by

# The log is read in parts of this many events, whatever a table lacks.
_PART_EVENTS = 2_000_000
_NOT_THERE = Standing(None, 0)
_LOG = logging.getLogger("headwater.spark")


@dataclass(slots=True)
class Late:
    """Finds the tables of one stream that are behind it, and parks them where they stand."""

    targets: Targets
    history: TableHistory
    modes: Modes
    parking: Parking
    publication: Publication
    _met: bool = False

    def meet(self, session: SparkSession, after: int) -> None:
        """Find those that the stream keeps since it was started; what is found is written down.

        A stream that begins `after` an event, where it has never been, lacks what was before.
        """
        if self._met:
            return
        written, known = self.publication.written(session), self.modes.known(self.history)
        if written.until:
            new = newly_kept(written, known)
        else:
            new = {key for key, first in known.items() if first <= after}
        for key in new:
            if name_of(*key) not in self.parking:
                place = self._lacking(session, key, written, known[key])
                if place is not None:
                    self._park(key, place)
        self._met = True

    def _lacking(self, session: SparkSession, key: Key, written: Written, first: int) -> int | None:
        """After which event a table lacks what the stream has passed; None if nothing is known."""
        entry, anew = latest(written.last).get(key), self._anew(key, written, first)
        try:
            target = self.targets.open(session, *key)
            standing, taken = target.standing(), taken_by(target)
        except Exception:  # noqa: BLE001 - trying to catch up meets it again, and tells it
            _LOG.warning("table cannot be opened", extra={"table": name_of(*key)}, exc_info=True)
            return anew
        # Without a state its own position is all that is known of a table.
        if standing.version is not None:
            return resumes(standing, entry, first) if written.until else None
        if taken is None:
            return anew
        had = min(taken.rows, taken.until) if entry is None else entry.applied
        return max(had, first - 1) if written.until else None

    def begin_anew(self, session: SparkSession, key: Key) -> None:
        """Have a parked table that is gone begin anew: its place says what it had taken.

        People may have let it go on from there without that.
        """
        stay = self.parking.stay(name_of(*key))
        target = self.targets.open(session, *key)
        if stay.released or target.standing().version is not None or taken_by(target) is not None:
            return
        first = self.modes.known(self.history)[key]
        begin = self._anew(key, self.publication.written(session), first)
        if begin < stay.after:
            self._park(key, begin)

    def _anew(self, key: Key, written: Written, first: int) -> int:
        """After which event a table begins that is not there."""
        return resumes(_NOT_THERE, None, first, nothing_until(written.last, key[0]))

    def least(self, key: Key) -> int:
        """Up to where the table was seen, and must therefore be."""
        return self.publication.applied(key)

    def least_of(self, key: Key, stay: Stay) -> int:
        """The same of a parked table: one that was set back before its place is being made anew.

        People may have let it go on without what it lacks.
        """
        least = self.least(key)
        return 0 if stay.released or stay.after < least else least

    def set_back(self, job: Job, error: SetBackError) -> None:
        """Park a table that lacks what it had."""
        first = self.modes.known(self.history)[job.key]
        self._park(job.key, resumes(Standing(error.version, error.applied), None, first))

    def _park(self, key: Key, after: int) -> None:
        _LOG.warning("table is behind its stream", extra={"table": name_of(*key), "after": after})
        self.parking.behind(name_of(*key), after)


def parts(after: int, until: int) -> Iterator[tuple[int, int]]:
    """A range in parts that can be worked on one after the other."""
    for begin in range(after, until, _PART_EVENTS):
        yield begin, min(begin + _PART_EVENTS, until)
