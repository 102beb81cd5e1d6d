"""The Python API for asyncio: the same objects, awaited.

    async with headwater.aio.capture("sqlite:///shop.db", log="shop.hwlog") as changes:
        async for batch in changes:
            ...
            await batch.ack()

Each wrapper owns one worker thread in which everything that touches a file happens, so the event
loop is never blocked. Cancelling an iteration loses nothing: a batch that was fetched meanwhile is
the next one given.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from headwater.app import api
from headwater.app.capturing import Capture
from headwater.app.config import Config
from headwater.app.consuming import Consumer, Start
from headwater.contract import Log, Source
from headwater.event import Event, EventBatch
from headwater.runtime import Delivery, SubscriptionPolicy

T = TypeVar("T")
_POLL_S = 0.1


class AsyncDelivery:
    """A delivery whose acknowledgement is awaited."""

    __slots__ = ("_owner", "sync")

    def __init__(self, delivery: Delivery, owner: AsyncChanges) -> None:
        self.sync = delivery
        self._owner = owner

    @property
    def events(self) -> EventBatch:
        """The events in columns."""
        return self.sync.events

    @property
    def first_sequence(self) -> int:
        """The first sequence number that the delivery covers."""
        return self.sync.first_sequence

    @property
    def last_sequence(self) -> int:
        """The last sequence number that the delivery covers."""
        return self.sync.last_sequence

    def __iter__(self) -> Iterator[Event]:
        return iter(self.sync)

    def __len__(self) -> int:
        return len(self.sync)

    def borders(self) -> list[int]:
        """The sequence numbers at which a prefix may be acknowledged."""
        return self.sync.borders()

    async def ack(self, upto: int | None = None) -> None:
        """Say that the events are dealt with; durable when it returns."""
        await self._owner.call(lambda: self.sync.ack(upto))


class AsyncChanges:
    """A capture or a consumer, awaited. Made by `capture` and `subscribe` of this module."""

    def __init__(self, sync: Capture | Consumer) -> None:
        self.sync = sync
        self._worker: ThreadPoolExecutor | None = None
        self._fetching: asyncio.Future[Delivery | None] | None = None

    async def call(self, action: Callable[[], T]) -> T:
        """Do it in the worker thread. It is not undone when the caller is cancelled."""
        return await asyncio.shield(self._submit(action))

    def _submit(self, action: Callable[[], T]) -> asyncio.Future[T]:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="headwater-aio")
        return asyncio.get_running_loop().run_in_executor(self._worker, action)

    async def __aenter__(self) -> Self:
        await self.call(self.sync.open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self.call(lambda: self.sync.__exit__(kind, error, trace))
        finally:
            if self._worker is not None:
                self._worker.shutdown(wait=False)
                self._worker = None

    async def __aiter__(self) -> AsyncIterator[AsyncDelivery]:
        while not await self._finished():
            delivery = await self.poll()
            if delivery is not None:
                yield delivery

    async def _finished(self) -> bool:
        return self._fetching is None and await self.call(lambda: self.sync.finished)

    async def poll(self) -> AsyncDelivery | None:
        """The next delivery, or None if none came within a moment."""
        if self._fetching is None:
            self._fetching = self._submit(lambda: self.sync.poll(_POLL_S))
        delivery = await asyncio.shield(self._fetching)
        self._fetching = None
        return None if delivery is None else AsyncDelivery(delivery, self)

    def drain(self) -> None:
        """Ask the iteration to end; see the synchronous `drain`."""
        self.sync.drain()

    async def status(self) -> dict[str, Any]:
        """State, lag and health, as plain values."""
        return await self.call(self.sync.status)


def capture(
    source: str | Path | Config | Source,
    *,
    log: str | Path | Log | None = None,
    tables: Sequence[str] = ("*",),
    name: str = "default",
    until: api.Until | None = None,
    options: api.CaptureOptions | None = None,
) -> AsyncChanges:
    """Capture a database into a log and consume it; see `headwater.capture`."""
    return AsyncChanges(
        api.capture(source, log=log, tables=tables, name=name, until=until, options=options)
    )


def subscribe(
    log: str | Path | Log,
    *,
    name: str = "default",
    start: Start = "earliest",
    until: api.Until | None = None,
    tables: Sequence[str] = ("*",),
    policy: SubscriptionPolicy | None = None,
) -> AsyncChanges:
    """Consume a log; see `headwater.subscribe`."""
    return AsyncChanges(
        api.subscribe(log, name=name, start=start, until=until, tables=tables, policy=policy)
    )
