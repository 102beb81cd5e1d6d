from __future__ import annotations

import pytest

from headwater.runtime.health import Facts, Status, verdict
from headwater.runtime.lifecycle import State


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (Facts(state=State.STREAMING, event_age_s=1), Status.HEALTHY),
        (Facts(state=State.STREAMING, event_age_s=1, lag_events=5), Status.HEALTHY),
        (Facts(state=State.STREAMING, event_age_s=3600), Status.IDLE),
        (Facts(state=State.STREAMING, event_age_s=None), Status.IDLE),
        (Facts(state=State.SNAPSHOTTING, event_age_s=1), Status.CATCHING_UP),
        (Facts(state=State.STREAMING, event_age_s=1, lag_events=50_000), Status.CATCHING_UP),
        (Facts(state=State.STREAMING, contact_age_s=31), Status.STALLED),
        (Facts(state=State.STARTING, contact_age_s=31, error_code="source-busy"), Status.STALLED),
        (Facts(state=State.STREAMING, lag_events=1, ack_age_s=31), Status.STALLED),
        (Facts(state=State.STREAMING, lag_events=0, ack_age_s=9999), Status.IDLE),
        (Facts(state=State.STOPPED, contact_age_s=9999), Status.STOPPED),
        (Facts(state=State.FAILED, error_code="source-gap"), Status.FAILED),
    ],
)
def test_verdict_is_as_expected_when_the_facts_are(facts: Facts, status: Status) -> None:
    assert verdict(facts).status is status


def test_verdict_names_reason_and_remedy_when_somebody_must_act() -> None:
    failed = verdict(Facts(state=State.FAILED, error_code="source-gap"))
    assert not failed.ok
    assert failed.remedy == "headwater explain source-gap"
    silent = verdict(Facts(state=State.STARTING, contact_age_s=90, error_code="source-busy"))
    assert "90 s" in silent.reason
    assert "source-busy" in silent.reason
