"""Capture beside a Spark stream: it begins with the reader, and ends with the query.

It runs in a thread of the process that plans the stream's micro-batches. The log's writer lease
sees to it that one process captures: a second reader of the same log, or one that starts while the
last still ends, reads what is there and takes over when the lease is free. What was captured and
confirmed is in the log (INV-2), so the process may be killed at any point (INV-3).
"""

from __future__ import annotations

import logging
import time
from contextlib import suppress

from headwater.app.registry import open_source
from headwater.app.spark.origin import Origin
from headwater.errors import HeadwaterError
from headwater.log import SqliteLog
from headwater.observe import PrometheusMetrics, SystemClock
from headwater.runtime import CaptureLoop

_LOG = logging.getLogger("headwater.capture")
_LOOK_S = 0.05
_GRACE_S = 10.0
# How long a stream waits for the capture of an earlier query to end.
_HANDOVER_S = 15.0
_STAND_BY_S = 1.0


class CaptureFeed:
    """Implements spark.source.ranges.Feed. Pickled only before it runs."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self._loop: CaptureLoop | None = None
        self._again_at_s = 0.0

    def run(self) -> None:
        """See that it runs, here or in another process; raises what ended it."""
        if self._loop is None:
            self._start()
        elif self._loop.error is not None:
            self._require_locked(self._loop.error)
            if time.monotonic() >= self._again_at_s:
                self._start()

    def catch_up(self, *, handover: bool) -> None:
        """Return when what the database has now is in the log, or somebody else sees to that."""
        self.end()
        give_up_s = time.monotonic() + (_HANDOVER_S if handover else 0.0)
        self.run()
        while (loop := self._loop) is not None and loop.facts.caught_up_head is None:
            if loop.error is not None and time.monotonic() > give_up_s:
                self._require_locked(loop.error)
                return
            time.sleep(_LOOK_S)
            self.run()

    def end(self) -> None:
        """Drain within reason; what is unfinished is done again by the next."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        loop.drain()
        with suppress(HeadwaterError):  # it is what `run` raises, or a lease of another process
            if not loop.join(_GRACE_S):
                loop.stop()

    def _start(self) -> None:
        self._again_at_s = time.monotonic() + _STAND_BY_S
        log = SqliteLog.create(self._origin.log)
        source = open_source(self._origin.source_url(), self._origin.options)
        self._loop = CaptureLoop(source, log, clock=SystemClock(), metrics=PrometheusMetrics())
        self._loop.start()

    @staticmethod
    def _require_locked(error: BaseException) -> None:
        if not isinstance(error, HeadwaterError) or error.code != "log-locked":
            raise error
        _LOG.info("another process captures into this log", extra={"code": error.code})
