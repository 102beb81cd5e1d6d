"""Signals: the first Ctrl-C drains, the second forces."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def two_step_stop(drain: Callable[[], None], force: Callable[[], None]) -> Iterator[None]:
    """Within the block, SIGINT and SIGTERM call `drain` the first time and `force` the second.

    After the second the previous handlers are back, so a third one ends the process as usual. Both
    calls must only ask (set a flag): they run between any two instructions. Python delivers signals
    to the main thread alone; in another thread the block changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            restore()
            force()
        else:
            asked = True
            drain()

    previous = {number: signal.signal(number, handle) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    try:
        yield
    finally:
        restore()
