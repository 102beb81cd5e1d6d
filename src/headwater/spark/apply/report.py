"""How each table fares: what it took last, how long that took, and whether it is parked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol

from headwater.contract import Lag
from headwater.errors import HeadwaterError
from headwater.spark.keep.keeper import KeepWatch, NoKeepWatch
from headwater.spark.progress import BatchReport

# What the log holds after one of its events.
Behind = Callable[[int], Lag]


class Watch(KeepWatch, Protocol):
    """Who wants to hear of tables while they are written; called from any thread."""

    def applied(self, report: TableReport) -> None:
        """A table took a batch."""
        ...

    def parked(self, name: str, *, code: str | None) -> None:
        """A table was parked for a reason, or released (None)."""
        ...

    def batch(self, report: BatchReport) -> None:
        """A micro-batch has ended."""
        ...

    def lag(self, name: str, lag: Lag) -> None:
        """What the log holds after what a table has taken."""
        ...


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table after its last batch."""

    name: str
    sequence: int
    events: int
    seconds: float
    parked: str | None = None
    at_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000, compare=False)

    def as_dict(self, lag: Lag) -> dict[str, Any]:
        """Plain values, with what the table is behind the log."""
        return {
            "sequence": self.sequence,
            "lag_events": lag.events,
            "lag_bytes": lag.bytes,
            "lag_s": lag.seconds,
            "events": self.events,
            "seconds": round(self.seconds, 3),
            "events_per_s": round(self.events / self.seconds, 1) if self.seconds else 0.0,
            "parked": self.parked,
            "at_ms": self.at_ms,
        }


class Silent(NoKeepWatch):
    """Implements Watch for nobody."""

    def applied(self, report: TableReport) -> None:
        """Not told."""

    def parked(self, name: str, *, code: str | None) -> None:
        """Not told."""

    def batch(self, report: BatchReport) -> None:
        """Not told."""

    def lag(self, name: str, lag: Lag) -> None:
        """Not told."""


@dataclass(slots=True)
class Reports:
    """The last report of every table that this process has written.

    A table that has had no change for long is not behind: it lags as much as the stream does. One
    that is parked lags from its place.
    """

    watch: Watch = field(default_factory=Silent)
    _reached: int = 0
    _tables: dict[str, TableReport] = field(default_factory=dict)
    _errors: dict[str, Exception] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def applied(self, report: TableReport) -> None:
        """A table took a batch; it is not parked then."""
        with self._lock:
            self._tables[report.name] = report
            self._errors.pop(report.name, None)
            self._reached = max(self._reached, report.sequence)
        self.watch.applied(report)

    def parked(self, name: str, after: int, error: Exception | None) -> None:
        """A table is parked; None means that an earlier process parked it."""
        code = error_code(error)
        with self._lock:
            known = self._tables.get(name, TableReport(name, after, 0, 0.0))
            self._tables[name] = replace(known, sequence=after, parked=code)
            if error is not None:
                self._errors[name] = error
        self.watch.parked(name, code=code)

    def released(self, name: str) -> None:
        """A table is no longer parked."""
        with self._lock:
            self._errors.pop(name, None)
            if (known := self._tables.get(name)) is not None:
                self._tables[name] = replace(known, parked=None)
        self.watch.parked(name, code=None)

    @property
    def reached(self) -> int:
        """The last sequence number that any table has come to."""
        with self._lock:
            return self._reached

    def batch(self, report: BatchReport, behind: Behind | None) -> None:
        """A micro-batch has ended, and every table is where it is for now.

        Without a log nobody knows what a table is `behind`: all stand where the stream does.
        """
        with self._lock:
            self._reached = max(self._reached, report.sequence)
        self.watch.batch(report)
        if behind is not None:
            self.measure(behind)

    def measure(self, behind: Behind) -> None:
        """Tell how far every table is behind by now."""
        for name, (_, lag) in self._lagging(behind).items():
            self.watch.lag(name, lag)

    def _lagging(self, behind: Behind) -> dict[str, tuple[TableReport, Lag]]:
        """By table; all but the parked ones stand where the stream does."""
        with self._lock:
            places = {
                name: (each, each.sequence if each.parked else self._reached)
                for name, each in self._tables.items()
            }
        lags = {after: behind(after) for _, after in places.values()}
        return {name: (each, lags[after]) for name, (each, after) in places.items()}

    def each(self) -> tuple[TableReport, ...]:
        """The last report of every table."""
        with self._lock:
            return tuple(self._tables.values())

    def failure(self) -> Exception | None:
        """Why the first of the parked tables is parked; None if none is."""
        with self._lock:
            return next(iter(self._errors.values()), None)

    def as_dict(self, behind: Behind) -> dict[str, dict[str, Any]]:
        """Plain values by table."""
        found = sorted(self._lagging(behind).items())
        return {name: report.as_dict(lag) for name, (report, lag) in found}


def error_code(error: Exception | None) -> str:
    """The code of an error; a message may quote data (INV-12)."""
    if error is None:
        return "earlier"
    return error.code if isinstance(error, HeadwaterError) else type(error).__name__
