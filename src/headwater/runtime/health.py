"""Health: one verdict from plain facts. Silence of an idle source is not a fault."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headwater.runtime.lifecycle import State


class Status(StrEnum):
    """What a person wants to know first."""

    HEALTHY = "healthy"
    IDLE = "idle"
    CATCHING_UP = "catching_up"
    STALLED = "stalled"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The status, and for a bad one the reason and the remedy."""

    status: Status
    reason: str = ""
    remedy: str = ""

    @property
    def ok(self) -> bool:
        """Whether nobody needs to act."""
        return self.status not in (Status.STALLED, Status.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the verdict is made from. Ages are seconds; None means never.

    `contact_age_s` is the time since the source last answered, with or without changes;
    `ack_age_s` the time since the consumer's place last moved or had nothing before it.
    """

    state: State
    contact_age_s: float = 0.0
    event_age_s: float | None = None
    lag_events: int = 0
    ack_age_s: float = 0.0
    error_code: str = ""
    retrying: bool = False
    stall_after_s: float = 30.0
    idle_after_s: float = 10.0
    behind_events: int = 10_000


def verdict(facts: Facts) -> Verdict:
    """Judge. The first rule that applies decides."""
    if facts.state is State.FAILED:
        remedy = f"headwater explain {facts.error_code}" if facts.error_code else "see the log"
        return Verdict(Status.FAILED, facts.error_code or "an unexpected error", remedy)
    if facts.state in (State.STOPPED, State.IDLE):
        return Verdict(Status.STOPPED)
    if facts.contact_age_s > facts.stall_after_s:
        return _source_silent(facts)
    if facts.lag_events and facts.ack_age_s > facts.stall_after_s:
        return Verdict(
            Status.STALLED,
            f"{facts.lag_events} events wait and none was acknowledged for {facts.ack_age_s:.0f} s",
            "look at the consumer: it is slow, stuck, or does not call ack()",
        )
    if facts.lag_events > facts.behind_events or facts.state is State.SNAPSHOTTING:
        return Verdict(Status.CATCHING_UP, f"{facts.lag_events} events behind")
    if not facts.lag_events and _older(facts.event_age_s, facts.idle_after_s):
        return Verdict(Status.IDLE)
    return Verdict(Status.HEALTHY)


def _source_silent(facts: Facts) -> Verdict:
    reason = f"the source has not answered for {facts.contact_age_s:.0f} s"
    if facts.error_code:
        reason += f" ({facts.error_code})"
    remedy = f"headwater explain {facts.error_code}" if facts.error_code else "headwater doctor"
    return Verdict(Status.STALLED, reason, remedy)


def _older(age_s: float | None, limit_s: float) -> bool:
    return age_s is None or age_s > limit_s
