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
from headwater.spark.apply.parking import Parking
from headwater.spark.modes import Modes, name_of
from headwater.spark.state.entry import Key, latest
from headwater.spark.state.positions import newly_kept, resumes
from headwater.spark.state.publish import Publication
from headwater.spark.table.target import Loadable, Standing, Targets

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
        last = latest(written.last)
        if written.until:
            new = newly_kept(written, known)
        else:
            new = {key for key, first in known.items() if first <= after}
        found = {
            key: self._standing(session, key) for key in new if name_of(*key) not in self.parking
        }
        if written.until or not any(found.values()):
            for key, standing in found.items():
                if standing is None or standing.version is not None:
                    self._park(key, resumes(standing or _NOT_THERE, last.get(key), known[key]))
        self._met = True

    def _standing(self, session: SparkSession, key: Key) -> Standing | None:
        """Where a table stands, without a version while it is being loaded; None: nowhere."""
        target = self.targets.open(session, *key)
        standing = target.standing()
        if standing.version is not None:
            return standing
        loading = isinstance(target, Loadable) and target.generation().taken() is not None
        return standing if loading else None

    def least(self, key: Key) -> int:
        """Up to where the table was seen, and must therefore be."""
        return self.publication.applied(key)

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
