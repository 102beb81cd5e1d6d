from __future__ import annotations

import pytest

from headwater.deliver import Backoff, RetryPolicy
from headwater.errors import DataError, MachineError, TransientError

_BUSY = TransientError("source-busy", "scripted")


def test_backoff_doubles_to_the_cap_when_failures_repeat() -> None:
    backoff = Backoff(RetryPolicy(base_s=1, factor=2, cap_s=5, random_unit=lambda: 1.0))
    assert [backoff.delay_s(_BUSY) for _ in range(5)] == [1, 2, 4, 5, 5]
    backoff.succeeded()
    assert backoff.delay_s(_BUSY) == 1


@pytest.mark.parametrize(("unit", "delay"), [(0.0, 0.0), (0.25, 1.0), (1.0, 4.0)])
def test_backoff_spreads_over_the_whole_interval_when_jitter_varies(
    unit: float, delay: float
) -> None:
    backoff = Backoff(RetryPolicy(base_s=4, random_unit=lambda: unit))
    assert backoff.delay_s(_BUSY) == delay


def test_backoff_raises_the_error_itself_when_it_is_not_retryable() -> None:
    error = DataError("event-invalid", "scripted")
    with pytest.raises(DataError) as caught:
        Backoff(RetryPolicy()).delay_s(error)
    assert caught.value is error


def test_backoff_gives_up_with_the_cause_when_attempts_are_used_up() -> None:
    backoff = Backoff(RetryPolicy(max_retries=2))
    backoff.delay_s(_BUSY)
    backoff.delay_s(_BUSY)
    with pytest.raises(MachineError, match="3 attempts failed") as caught:
        backoff.delay_s(_BUSY)
    assert caught.value.code == "retries-exhausted"
    assert caught.value.__cause__ is _BUSY


def test_backoff_stays_at_the_cap_when_it_fails_for_days() -> None:
    backoff = Backoff(RetryPolicy(random_unit=lambda: 1.0))
    assert [backoff.delay_s(_BUSY) for _ in range(5000)][-1] == 30.0
