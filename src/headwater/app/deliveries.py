"""Deliveries: what `with` and `for` do with a thing that hands changes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from headwater.runtime import Delivery

POLL_S = 0.1


class Deliveries(ABC):
    """Opened and closed by a `with` statement; iterated until it is finished."""

    @abstractmethod
    def open(self) -> Self:
        """Open what deliveries need."""

    @abstractmethod
    def close(self) -> None:
        """Release it. Safe to call twice."""

    @abstractmethod
    def poll(self, timeout_s: float = POLL_S) -> Delivery | None:
        """The next delivery, or None if none came in time."""

    @property
    @abstractmethod
    def finished(self) -> bool:
        """Whether everything that will be delivered was delivered."""

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Delivery]:
        while not self.finished:
            delivery = self.poll(POLL_S)
            if delivery is not None:
                yield delivery
