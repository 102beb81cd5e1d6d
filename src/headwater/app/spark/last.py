"""What each table took last, kept in the log's file for who asks when no stream runs.

It is for people alone: a stream goes on by its tables and the cursors. So it is written after a
batch and not in one, seldom, and not at all while somebody else writes to the log.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Lock

from headwater.errors import HeadwaterError
from headwater.log import SqliteLog, TakenInfo
from headwater.spark.apply.report import Reports, TableReport

_APART_S = 5.0


@dataclass(slots=True)
class LastReports:
    """What one job has kept so far; called from any thread."""

    _kept: dict[str, TableReport] = field(default_factory=dict)
    _next_s: float = 0.0
    _lock: Lock = field(default_factory=Lock)

    def keep(self, log: SqliteLog, target: str, reports: Reports, *, at_end: bool = False) -> None:
        """Keep what is new, if it is time or there is no more to come."""
        with self._lock:
            now_s = time.monotonic()
            if now_s < self._next_s and not at_end:
                return
            self._next_s = now_s + _APART_S
            new = [each for each in reports.each() if self._kept.get(each.name) != each]
            if not new:
                return
            try:
                log.note_taken(target, map(_info, new))
            except HeadwaterError:  # the next time keeps these, too
                return
            self._kept |= {each.name: each for each in new}


def _info(report: TableReport) -> TakenInfo:
    return TakenInfo(
        report.name, report.sequence, report.events, report.seconds, report.at_ms, report.parked
    )
