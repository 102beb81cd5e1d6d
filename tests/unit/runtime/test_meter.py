from __future__ import annotations

import pytest

from headwater.runtime.meter import Meter
from headwater.testing.clock import FakeClock


def test_meter_shows_the_rate_of_the_window_and_zero_when_nothing_happens() -> None:
    clock = FakeClock()
    meter = Meter(clock, window_s=10)
    for _ in range(30):
        clock.advance(1.0)
        meter.add(100)
    assert meter.per_second() == pytest.approx(100, rel=0.15)
    clock.advance(30)
    assert meter.per_second() == 0
    assert meter.total == 3000
