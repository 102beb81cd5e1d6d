"""How each table fares: what it took last, how long that took, and whether it is parked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Protocol

from headwater.errors import HeadwaterError
from headwater.spark.keep.keeper import KeepWatch, NoKeepWatch
from headwater.spark.progress import BatchReport


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


@dataclass(frozen=True, slots=True)
class TableReport:
    """One table after its last batch."""

    name: str
    sequence: int
    events: int
    seconds: float
    parked: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "sequence": self.sequence,
            "events": self.events,
            "seconds": round(self.seconds, 3),
            "events_per_s": round(self.events / self.seconds, 1) if self.seconds else 0.0,
            "parked": self.parked,
        }


class Silent(NoKeepWatch):
    """Implements Watch for nobody."""

    def applied(self, report: TableReport) -> None:
        """Not told."""

    def parked(self, name: str, *, code: str | None) -> None:
        """Not told."""

    def batch(self, report: BatchReport) -> None:
        """Not told."""


@dataclass(slots=True)
class Reports:
    """The last report of every table that this process has written."""

    watch: Watch = field(default_factory=Silent)
    _tables: dict[str, TableReport] = field(default_factory=dict)
    _errors: dict[str, Exception] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def applied(self, report: TableReport) -> None:
        """A table took a batch; it is not parked then."""
        with self._lock:
            self._tables[report.name] = report
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
        self.watch.parked(name, code=None)

    def failure(self) -> Exception | None:
        """Why the first of the parked tables is parked; None if none is."""
        with self._lock:
            return next(iter(self._errors.values()), None)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Plain values by table."""
        with self._lock:
            return {name: report.as_dict() for name, report in sorted(self._tables.items())}


def error_code(error: Exception | None) -> str:
    """The code of an error; a message may quote data (INV-12)."""
    if error is None:
        return "earlier"
    return error.code if isinstance(error, HeadwaterError) else type(error).__name__
