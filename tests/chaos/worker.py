"""The process that is killed: production parts from the SQLite source to two sinks."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from headwater.contract import Sink, SourceBatch
from headwater.deliver import DeadLetters
from headwater.format.headwater.json import JsonFormat
from headwater.log import RetentionPolicy, SqliteLog
from headwater.observe import NoMetrics, SystemClock
from headwater.runtime.capture import CaptureLoop, CapturePolicy
from headwater.runtime.delivery import DeliveryLoop, DeliveryPolicy
from headwater.runtime.subscription import Subscription, SubscriptionPolicy
from headwater.sink.file import FileSink
from headwater.source.sqlite import SqliteSource, SqliteSourceConfig, prune
from headwater.source.sqlite.install import uninstall, upgrade
from tests.chaos.plants import PLANTS
from tests.chaos.sinks import RecordingSink

_NAP_S = 0.03
_PATIENCE_S = 20.0
_IDLE_LOOKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one worker process is to do. `step` names something to do instead of capturing.

    With a `dsn` it captures that PostgreSQL database over `transport`, without one the directory's
    SQLite file.
    """

    directory: str
    failpoints: str = ""
    plant: str = ""
    step: str = ""
    retain: bool = False
    dsn: str = ""
    transport: str = "replication"


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one scenario."""

    directory: Path

    @classmethod
    def of(cls, job: Job) -> Place:
        return cls(Path(job.directory))

    @property
    def database(self) -> Path:
        return self.directory / "source.db"

    @property
    def log(self) -> Path:
        return self.directory / "log.hwlog"

    @property
    def record(self) -> Path:
        return self.directory / "record.jsonl"

    @property
    def letters(self) -> Path:
        return self.directory / "letters.jsonl"

    @property
    def file(self) -> Path:
        return self.directory / "events.jsonl"

    @property
    def ready(self) -> Path:
        return self.directory / "ready"

    @property
    def finished(self) -> Path:
        return self.directory / "finished"

    @property
    def failure(self) -> Path:
        return self.directory / "failure"


class WatchedSource(SqliteSource):
    """Counts how often in a row there was nothing to read."""

    idle_looks = 0

    def read(self, max_events: int, timeout_s: float) -> SourceBatch | None:
        batch = super().read(max_events, timeout_s)
        self.idle_looks = self.idle_looks + 1 if batch is None else 0
        return batch


def work(job: Job) -> None:
    """Run until the application has finished and everything it wrote is delivered."""
    place = Place.of(job)
    # The change table is pruned at every confirmation, so that a premature one cannot hide.
    prune._AT_LEAST = 1
    if job.plant:
        PLANTS[job.plant]()
    if job.step:
        STEPS[job.step](place)
    else:
        _capture(place, retain=job.retain)


def _capture(place: Place, *, retain: bool) -> None:
    source = WatchedSource(
        SqliteSourceConfig(path=place.database, chunk_rows=7, poll_interval_s=0.005)
    )
    log = SqliteLog.create(place.log)
    with ExitStack() as parts:
        capture = CaptureLoop(
            source,
            log,
            clock=SystemClock(),
            metrics=NoMetrics(),
            policy=CapturePolicy(max_events=10, read_timeout_s=0.02),
        )
        record: Sink = RecordingSink(place.record)
        file: Sink = FileSink(place.file, JsonFormat(), lineage=log.info().log_id)
        loops = [
            _delivery(log, "record", record, parts, DeadLetters(place.letters)),
            _delivery(log, "file", file, parts, None),
        ]
        everything = (capture, *loops)
        for loop in everything:
            loop.start()
        place.ready.touch()
        while not (place.finished.exists() and source.idle_looks >= _IDLE_LOOKS):
            for loop in everything:
                if loop.error is not None:
                    raise loop.error
            if retain:
                log.retain(RetentionPolicy(max_bytes=6_000))
            time.sleep(_NAP_S)
        for loop in everything:
            loop.drain()
            if not loop.join(_PATIENCE_S):
                raise TimeoutError(f"{loop.name} does not end")


def _delivery(
    log: SqliteLog, name: str, sink: Sink, parts: ExitStack, letters: DeadLetters | None
) -> DeliveryLoop:
    reader, cursor = log.reader(), log.cursor(name, required=True)
    parts.callback(reader.close)
    parts.callback(cursor.close)
    subscription = Subscription(
        reader,
        cursor,
        clock=SystemClock(),
        policy=SubscriptionPolicy(max_events=16, longest_wait_s=0.02),
    )
    return DeliveryLoop(
        subscription,
        sink,
        clock=SystemClock(),
        metrics=NoMetrics(),
        policy=DeliveryPolicy(max_pending_events=40, poll_timeout_s=0.02, flush_interval_s=0.02),
        dead_letters=letters,
    )


def _on_database(act: Callable[[sqlite3.Connection], object]) -> Callable[[Place], None]:
    def step(place: Place) -> None:
        connection = sqlite3.connect(place.database, isolation_level=None, timeout=10)
        act(connection)
        connection.close()

    return step


def _salvage(place: Place) -> None:
    SqliteLog(place.log).salvage()


STEPS: dict[str, Callable[[Place], None]] = {
    "upgrade": _on_database(upgrade),
    "uninstall": _on_database(uninstall),
    "salvage": _salvage,
}
