"""Loop: what every engine loop shares: a lifecycle, a thread if wanted, two ways to end."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from contextlib import suppress

from headwater.contract import Clock
from headwater.errors import HeadwaterError
from headwater.runtime.lifecycle import Lifecycle, State

# No wait is longer than this, so that an end that was asked for is noticed.
_LONGEST_NAP_S = 0.1


class Loop(ABC):
    """Runs `_work` once, in the caller's thread or in one of its own.

    `drain` asks to finish what is in hand, `stop` asks to end at the next step. Both only ask: they
    may be called from any thread and from a signal handler. Only the loop itself changes state.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.clock = clock
        self.lifecycle = Lifecycle(self._state_changed)
        self.log = logging.getLogger(f"headwater.{name}")
        self._draining = threading.Event()
        self._stopping = threading.Event()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    @abstractmethod
    def _work(self) -> None:
        """Everything the loop does; returns when it was asked to end."""

    def _state_changed(self, before: State, after: State) -> None:
        facts = {"before": before.value, "state": after.value}
        if isinstance(self._error, HeadwaterError):
            facts["code"] = self._error.code
        level = logging.ERROR if after is State.FAILED else logging.INFO
        self.log.log(level, "state changed", extra=facts)

    @property
    def state(self) -> State:
        """Where the loop is."""
        return self.lifecycle.state

    @property
    def error(self) -> BaseException | None:
        """What ended the loop, if it failed."""
        return self._error

    def run(self) -> None:
        """Run here until asked to end; a failure is raised."""
        self.lifecycle.to(State.STARTING)
        try:
            self._work()
        except BaseException as exc:
            self._error = exc
            self.lifecycle.to(State.FAILED)
            raise
        else:
            self.lifecycle.to(State.STOPPED)
        finally:
            self._done.set()

    def start(self) -> None:
        """Run in a thread of its own; a failure is kept for `join` and `error`."""
        self._thread = threading.Thread(target=self._run_quietly, name=f"headwater-{self.name}")
        self._thread.daemon = True
        self._thread.start()

    def _run_quietly(self) -> None:
        with suppress(BaseException):  # kept in `error`: whoever joins is told
            self.run()

    def drain(self) -> None:
        """Ask to finish what is in hand and end."""
        self._draining.set()

    def stop(self) -> None:
        """Ask to end at the next step; what is unfinished is done again after a restart (INV-3)."""
        self._stopping.set()

    def join(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; False if it did not come in time. A failure is raised here."""
        if self._thread is not None and not self._done.wait(timeout_s):
            return False
        if self._error is not None:
            raise self._error
        return True

    @property
    def _ending(self) -> bool:
        return self._stopping.is_set() or self._draining.is_set()

    def _pause(self, seconds: float) -> None:
        """Wait, but not beyond a request to end."""
        until = self.clock.monotonic_s() + seconds
        while not self._ending:
            left = until - self.clock.monotonic_s()
            if left <= 0:
                return
            self.clock.sleep(min(left, _LONGEST_NAP_S))
