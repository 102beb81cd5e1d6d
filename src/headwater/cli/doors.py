"""What the command line is given from outside: the other door.

Two doors do not import each other; `headwater/__main__.py`, which stands above both, hands the
status server to the command line as a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from headwater.app.config import ServerSettings
    from headwater.app.status import StatusView


class RunningServer(Protocol):
    """A status server that listens."""

    @property
    def address(self) -> str:
        """Where it listens, as a URL."""
        ...

    def stop(self) -> None:
        """Stop listening."""
        ...


@dataclass(frozen=True, slots=True)
class Doors:
    """The doors that a command may open besides its own."""

    open_server: Callable[[ServerSettings, StatusView], RunningServer] | None = None
