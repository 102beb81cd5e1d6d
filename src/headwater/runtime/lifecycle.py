"""Lifecycle: the states of a loop, and which may follow which (INV-4)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import StrEnum

from headwater.errors import StateError


class State(StrEnum):
    """Where a loop is. STOPPED and FAILED are ends: a new loop starts anew."""

    IDLE = "idle"
    STARTING = "starting"
    SNAPSHOTTING = "snapshotting"
    STREAMING = "streaming"
    DRAINING = "draining"
    STOPPED = "stopped"
    FAILED = "failed"


# STARTING is entered again whenever a failed connection is opened anew. A running loop may stop
# without draining: that is what a forced stop is.
_NEXT: dict[State, frozenset[State]] = {
    State.IDLE: frozenset({State.STARTING, State.STOPPED}),
    State.STARTING: frozenset(
        {State.SNAPSHOTTING, State.STREAMING, State.DRAINING, State.STOPPED, State.FAILED}
    ),
    State.SNAPSHOTTING: frozenset(
        {State.STARTING, State.STREAMING, State.DRAINING, State.STOPPED, State.FAILED}
    ),
    State.STREAMING: frozenset(
        {State.STARTING, State.SNAPSHOTTING, State.DRAINING, State.STOPPED, State.FAILED}
    ),
    State.DRAINING: frozenset({State.STOPPED, State.FAILED}),
    State.STOPPED: frozenset(),
    State.FAILED: frozenset(),
}


class Lifecycle:
    """The present state. Moves are validated and safe from any thread."""

    def __init__(self, on_change: Callable[[State, State], None] | None = None) -> None:
        self._state = State.IDLE
        self._lock = threading.Lock()
        self._on_change = on_change

    @property
    def state(self) -> State:
        """The present state."""
        return self._state

    @property
    def ended(self) -> bool:
        """Whether nothing can follow."""
        return not _NEXT[self._state]

    def to(self, state: State) -> None:
        """Move; a move that is not listed raises and changes nothing (INV-4)."""
        with self._lock:
            before = self._state
            if state not in _NEXT[before]:
                raise StateError(
                    "lifecycle-transition", f"a loop that is {before} cannot become {state}"
                )
            self._state = state
        if self._on_change is not None:
            self._on_change(before, state)
