"""What the command line is given from outside: the other door, and the test kit.

Two doors do not import each other, and nothing that ships to production imports the test kit;
`headwater/__main__.py`, which stands above all, hands them to the command line as functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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


class Replay(Protocol):
    """Replays a recording and compares it with its golden file."""

    def __call__(self, fixture: Path, golden: Path | None, *, update: bool) -> dict[str, Any]:
        """What came of it, as plain values."""
        ...


@dataclass(frozen=True, slots=True)
class Doors:
    """The doors that a command may open besides its own."""

    open_server: Callable[[ServerSettings, StatusView], RunningServer] | None = None
    replay: Replay | None = None
