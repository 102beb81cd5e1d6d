from __future__ import annotations

import os
import signal
import threading

from headwater.runtime.signals import two_step_stop


def test_signals_drain_first_and_force_second_when_sent_twice() -> None:
    before = signal.getsignal(signal.SIGINT)
    calls: list[str] = []
    with two_step_stop(lambda: calls.append("drain"), lambda: calls.append("force")):
        os.kill(os.getpid(), signal.SIGINT)
        assert calls == ["drain"]
        os.kill(os.getpid(), signal.SIGTERM)
        assert calls == ["drain", "force"]
        assert signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before


def test_signals_are_left_alone_when_not_in_the_main_thread() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def run() -> None:
        with two_step_stop(lambda: None, lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
