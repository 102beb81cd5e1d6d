"""What becomes of the tables of a batch: a report if it was taken, a place if that failed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from pyspark.sql import SparkSession

from headwater.errors import HeadwaterError
from headwater.spark.apply.job import Job
from headwater.spark.apply.parking import Parking
from headwater.spark.apply.report import Reports, TableReport
from headwater.spark.change.contents import classified
from headwater.spark.modes import name_of
from headwater.spark.state.entry import Key

# A job, and what came of it: how long it took.
Done = tuple[Job, Future[float]]


@dataclass(frozen=True, slots=True)
class Settling:
    """Parks what failed by itself; anything else fails the batch, which comes again.

    `is_storage_there` says whether the place of the tables answers: else none of them is to blame.
    """

    parking: Parking
    reports: Reports
    is_storage_there: Callable[[SparkSession], bool]

    def settle(
        self, session: SparkSession, done: Sequence[Done], after: int, caught: Collection[Key]
    ) -> None:
        """Settle what came of a batch that began `after` an event; `caught` are in step again."""
        failed = {job.key for job, work in done if work.exception() is not None}
        went_on = any(job.key not in failed for job, _ in done)
        # Several tables that fail for one reason are not each one's own affair.
        alone = went_on or (len(failed) == 1 and self.is_storage_there(session))
        for job, work in done:
            error = work.exception()
            if error is not None and not (
                isinstance(error, Exception) and self.parking.may_park(job.name, error, alone=alone)
            ):
                raise error
        for job, work in done:
            error = work.exception()
            if isinstance(error, Exception):
                self.parking.failed(job.name, after, error)
            if error is None:
                report = TableReport(job.name, job.until, job.changes.events, work.result())
                self.reports.applied(report)
        well = {name_of(*key) for key in caught}
        for name, stay in self.parking:
            if name not in well:
                self.reports.parked(name, stay.after, stay.error)

    def set_aside(self, session: SparkSession, name: str, after: int, exc: Exception) -> None:
        """Park a table for an error of its own; any other fails the batch, which comes again."""
        error = exc if isinstance(exc, HeadwaterError) else classified(exc, name)
        if not self.parking.may_park(name, error, alone=self.is_storage_there(session)):
            raise error from exc
        self.parking.failed(name, after, error)
        self.reports.parked(name, after, error)

    def release(self, caught: Collection[Key]) -> None:
        """Let the places of tables go that are in step again."""
        for key in caught:
            self.parking.released(name_of(*key))
            self.reports.released(name_of(*key))
