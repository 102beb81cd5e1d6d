"""Consumers of a pipeline: sinks behind delivery loops, and the tables that Spark applies to."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from headwater.app.registry import make_sink
from headwater.runtime import DeliveryLoop, State, Subscription
from headwater.transform import KeepTables

if TYPE_CHECKING:
    from headwater.app.config import SinkSettings
    from headwater.contract import Clock, Metrics
    from headwater.log import SqliteLog


class Consumer(Protocol):
    """What the supervisor needs of a consumer. A delivery loop is one."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def state(self) -> State:
        """Where it is."""
        ...

    def start(self) -> None:
        """Begin, in a thread of its own."""
        ...

    def drain(self) -> None:
        """Ask to deliver up to the log's head and end."""
        ...

    def stop(self) -> None:
        """Ask to end at once."""
        ...

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; a failure is raised here."""
        ...


def sink_consumer(
    settings: SinkSettings, log: SqliteLog, clock: Clock, metrics: Metrics, parts: ExitStack
) -> Consumer:
    """A delivery loop with a cursor of its own; what it holds is closed with `parts`."""
    reader = log.reader()
    parts.callback(reader.close)
    cursor = log.cursor(settings.name, required=True)
    parts.callback(cursor.close)
    subscription = Subscription(
        reader, cursor, clock=clock, transform=KeepTables(keep=settings.tables)
    )
    sink = make_sink(settings, lineage=log.info().log_id, schemas=reader)
    return DeliveryLoop(subscription, sink, clock=clock, metrics=metrics)
