"""Tables that fail are parked: the others go on, and a parked one keeps its place until it is well.

The place is durable and outside this process (the app keeps it as a cursor of the log, so retention
waits for it). Why a table is parked is not: a restart tries it again and finds out. While the
stream runs it is tried again too, more and more seldom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from headwater.errors import ConfigError, DataError, HeadwaterError

OnTableError = Literal["park", "halt"]
# Batches from one attempt to the next; doubled each time up to the last.
_FIRST_WAIT, _LONGEST_WAIT = 4, 256


@dataclass(frozen=True, slots=True)
class Held:
    """The last event that a parked table has taken; `released` is that people chose it."""

    after: int
    released: bool = False


class Places(Protocol):
    """Where the places of parked tables are kept, by name."""

    def parked(self) -> Mapping[str, Held]:
        """Every parked table with its place."""
        ...

    def park(self, name: str, after: int) -> None:
        """Keep a place, durably."""
        ...

    def release(self, name: str) -> None:
        """Let it go: the table has caught up."""
        ...


class NoPlaces:
    """Implements Places for a stream that stops at the first failure."""

    def parked(self) -> Mapping[str, Held]:
        """Nothing is parked."""
        return {}

    def park(self, name: str, after: int) -> None:
        """Nothing can be."""
        raise NotImplementedError(name, after)

    def release(self, name: str) -> None:
        """Nothing is."""


@dataclass(slots=True)
class Stay:
    """A parked table's stay: where it stopped, why, and when it is tried again."""

    after: int
    released: bool = False
    error: Exception | None = None
    wait: int = 0
    waited: int = 0


@dataclass(slots=True)
class Parking:
    """The parked tables of one stream. Used between the jobs of a batch, by one thread."""

    places: Places = field(default_factory=NoPlaces)
    on_error: OnTableError = "halt"
    _stays: dict[str, Stay] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """What an earlier process parked is tried with the first batch."""
        self._stays = {
            name: Stay(held.after, held.released) for name, held in self.places.parked().items()
        }

    def __contains__(self, name: str) -> bool:
        return name in self._stays

    def __iter__(self) -> Iterator[tuple[str, Stay]]:
        return iter(self._stays.items())

    def stay(self, name: str) -> Stay:
        """Where a parked table stopped."""
        return self._stays[name]

    def due(self) -> list[str]:
        """The tables to try in this batch."""
        tried = []
        for name, stay in self._stays.items():
            stay.waited += 1
            if stay.waited > stay.wait:
                tried.append(name)
        return tried

    def released(self, name: str) -> None:
        """The table has caught up."""
        self.places.release(name)
        del self._stays[name]

    def behind(self, name: str, after: int) -> None:
        """Have a table go on from a place of its own, at once."""
        self.places.park(name, after)
        self._stays[name] = Stay(after)

    def failed(self, name: str, after: int, error: Exception) -> None:
        """Park the table at a place, or keep it parked where it is."""
        stay = self._stays.get(name)
        if stay is None:
            self.places.park(name, after)
            stay = self._stays[name] = Stay(after)
        stay.error = error
        stay.wait = min(max(stay.wait * 2, _FIRST_WAIT), _LONGEST_WAIT)
        stay.waited = 0

    def may_park(self, name: str, error: Exception, *, alone: bool) -> bool:
        """Whether an error is one table's own, and not that of whatever all tables stand on.

        `alone` is whether everything else went well. A table that is parked has shown it before.
        """
        if self.on_error == "halt":
            return False
        if isinstance(error, HeadwaterError):
            return isinstance(error, (ConfigError, DataError))
        return alone or name in self
