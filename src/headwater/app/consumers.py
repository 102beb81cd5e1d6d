"""Consumers of a pipeline: sinks behind delivery loops, and the tables that Spark applies to."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from headwater.app.cdc import FORMAT, CdcPlan
from headwater.app.registry import default_registry
from headwater.runtime import DeliveryLoop, State, Subscription, WholeTransactions
from headwater.transform import KeepTables

if TYPE_CHECKING:
    from headwater.app.config import SinkSettings
    from headwater.contract import Clock, Metrics, Transform
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
    settings: SinkSettings,
    log: SqliteLog,
    clock: Clock,
    metrics: Metrics,
    parts: ExitStack,
    cdc: CdcPlan,
) -> Consumer:
    """A delivery loop with a cursor of its own; what it holds is closed with `parts`."""
    reader = log.reader()
    parts.callback(reader.close)
    cursor = log.cursor(settings.name, required=True)
    parts.callback(cursor.close)
    tables = KeepTables(keep=settings.tables)
    transform: Transform | WholeTransactions = tables
    if settings.format == FORMAT:
        transform = cdc.transform(reader, tables, log.path.parent)
    if isinstance(transform, WholeTransactions):
        parts.callback(transform.close)
    subscription = Subscription(reader, cursor, clock=clock, transform=transform)
    registry = default_registry().with_format(FORMAT, cdc.format)
    sink = registry.sink(settings, log.info().log_id, reader)
    return DeliveryLoop(subscription, sink, clock=clock, metrics=metrics)
