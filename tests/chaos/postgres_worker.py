"""The process that is killed: the PostgreSQL source, the capture loop and the log."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow.compute as pc

from headwater.contract import SourceBatch
from headwater.deliver import RetryPolicy
from headwater.log import SqliteLog
from headwater.observe import NoMetrics, SystemClock
from headwater.runtime.capture import CaptureLoop, CapturePolicy
from headwater.secret import Secret
from headwater.source.postgres import PostgresSource, PostgresSourceConfig
from headwater.source.postgres.config import Transport
from headwater.source.postgres.place import Place as SourcePlace
from headwater.source.postgres.stream import peek, receive, running
from tests.chaos.postgres_plants import PLANTS
from tests.chaos.postgres_workload import UNWANTED
from tests.chaos.worker import Job, Place

_NAP_S = 0.01
_PATIENCE_S = 20.0
SLOT = "chaos"


class WatchedSource(PostgresSource):
    """Knows whether the application's last transaction has been read."""

    fenced = False

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        batch = super().read(max_events, timeout_s)
        if batch is not None and len(batch.events):
            found = pc.any(pc.equal(batch.events.column("table_name"), "fence"))
            self.fenced = self.fenced or bool(found.as_py())
        return batch


def work(job: Job) -> None:
    """Run until the application has finished and everything it wrote is in the log."""
    # The server is told at once, so that a premature confirmation cannot hide.
    receive._WAKE_S = 0.01
    peek._TELL_S = 0.01
    running._POSITION_INTERVAL_S = 0.02
    if job.plant:
        PLANTS[job.plant]()
    place = Place.of(job)
    source = WatchedSource(replace(config(job.dsn), transport=Transport(job.transport)))
    capture = CaptureLoop(
        source,
        SqliteLog.create(place.log),
        clock=SystemClock(),
        metrics=NoMetrics(),
        policy=CapturePolicy(
            max_events=64, read_timeout_s=0.02, retry=RetryPolicy(base_s=0.05, cap_s=0.3)
        ),
    )
    capture.start()
    place.ready.touch()
    while not (source.fenced and _nothing_owed(capture)):
        if capture.error is not None:
            raise capture.error
        if capture.facts.caught_up_head is not None:
            caught_up(place).touch()
        time.sleep(_NAP_S)
    capture.drain()
    if not capture.join(_PATIENCE_S):
        raise TimeoutError("capture does not end")


def caught_up(place: Place) -> Path:
    """There once the worker has read everything that was there when it came up."""
    return place.directory / "caught_up"


def config(dsn: str) -> PostgresSourceConfig:
    """A page is a chunk, so that there are many, and new tables are soon seen."""
    return PostgresSourceConfig(
        dsn=Secret(dsn),
        slot=_slot(dsn),
        exclude=(UNWANTED,),
        chunk_rows=1,
        heartbeat_interval_s=0.2,
    )


def _slot(dsn: str) -> str:
    return f"{SLOT}_{dsn.rsplit('/', 1)[1]}"


def _nothing_owed(capture: CaptureLoop) -> bool:
    position = capture.facts.position
    return position is not None and SourcePlace.decode(position).snapshot is None
