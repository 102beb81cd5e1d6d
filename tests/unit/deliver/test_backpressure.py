from __future__ import annotations

from headwater.deliver import Window
from headwater.testing.builders import inserts


def test_window_is_full_when_events_reach_the_limit_and_opens_when_they_leave() -> None:
    window = Window(max_events=5)
    batch = inserts(1, 5)
    seen = [window.full]
    window.enter(batch)
    seen.append(window.full)
    window.leave(batch)
    seen.append(window.full)
    assert seen == [False, True, False]
    assert (window.events, window.bytes) == (0, 0)


def test_window_is_full_when_bytes_reach_the_limit() -> None:
    batch = inserts(1, 3)
    window = Window(max_bytes=batch.records.nbytes)
    seen = []
    for part in (batch.slice(0, 2), batch):
        window.enter(part)
        seen.append(window.full)
    assert seen == [False, True]


def test_window_never_fills_when_it_has_no_limit() -> None:
    window = Window()
    for _ in range(100):
        window.enter(inserts(1, 10))
    assert not window.full
