"""Commands: what people ask of a running capture, how it answers, and what it still owes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable


class Verb(Enum):
    """What is to be done with rows that are read beside the stream."""

    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    THROTTLE = "throttle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is asked: `start` reads `table`, or its rows that fulfil `where`, once more.

    With `keys`, each a JSON object, it reads the rows of these keys, and says of each that has no
    row that there is none. `stop` without a table means all. `rows_per_s` limits the reading; 0
    lifts every limit.
    """

    verb: Verb
    table: str | None = None
    where: str | None = None
    rows_per_s: int | None = None
    keys: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A wish that was written down. Numbers only grow, so a source knows what it took already."""

    id: int
    wish: Wish


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a command; `error` is a refusal as `HeadwaterError.as_dict` gives it."""

    error: Mapping[str, str] | None = None


class OwedState(Enum):
    """Where the reading of one table stands."""

    WAITING = "waiting"
    READING = "reading"
    PAUSED = "paused"
    FAILED = "failed"
    DONE = "done"
    STOPPED = "stopped"

    @property
    def ended(self) -> bool:
        """Whether nothing more will be read."""
        return self in {OwedState.FAILED, OwedState.DONE, OwedState.STOPPED}


@dataclass(frozen=True, slots=True)
class Owed:
    """A table whose rows are read beside the stream. `rows_total` is an estimate.

    `command` is None where nobody asked: an interrupted first load, or a table made later. `rate`
    is in rows per second.
    """

    table: str
    state: OwedState
    rows_done: int = 0
    rows_total: int | None = None
    command: int | None = None
    where: str | None = None
    failure: str | None = None
    rate: float | None = None

    @property
    def eta_s(self) -> float | None:
        """The seconds that the rest takes at this rate; None if nobody can know."""
        if self.state is not OwedState.READING or not self.rate or self.rows_total is None:
            return None
        return max(self.rows_total - self.rows_done, 0) / self.rate


class Asking(Protocol):
    """Where people leave commands and look for answers. Any process may."""

    def ask(self, wish: Wish, *, once: str | None = None) -> int:
        """Write a wish down, durably; returns its number.

        A wish with a name is written down `once`: under the same name only its number comes back,
        however often and by whom it is asked. One that was refused may be asked again.
        """
        ...

    def answered(self, command: int) -> Answer | None:
        """The answer to a command, if there is one."""
        ...

    def reported(self) -> tuple[Owed, ...]:
        """What capture said last of the rows that are owed."""
        ...

    def close(self) -> None:
        """Release what is held. Safe to call twice."""
        ...


class Commands(Asking, Protocol):
    """The same, for the log's writer, which answers."""

    def waiting(self) -> tuple[Command, ...]:
        """The commands without an answer, in the order in which they were asked."""
        ...

    def answer(self, command: int, answer: Answer) -> None:
        """Say what became of a command."""
        ...

    def report(self, owed: Sequence[Owed]) -> None:
        """Say what is owed now, in place of what was said before."""
        ...


@runtime_checkable
class Commanded(Protocol):
    """A log that also carries commands."""

    def commands(self) -> Commands:
        """The commands beside this log's events."""
        ...
