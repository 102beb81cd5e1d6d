"""Retry: the error's kind decides whether, the policy decides when. Nothing here waits."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from headwater.errors import HeadwaterError, MachineError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential with full jitter: before attempt n, wait 0 to min(cap, base * factor^(n-1)).

    `max_retries` None retries for ever. `random_unit` gives 0 to 1, so that tests own the jitter.
    """

    base_s: float = 0.2
    factor: float = 2.0
    cap_s: float = 30.0
    max_retries: int | None = None
    random_unit: Callable[[], float] = random.random


class Backoff:
    """Counts the failures in a row and says how long to wait after each."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self.failures = 0

    def delay_s(self, error: HeadwaterError) -> float:
        """How long to wait before the next attempt; raises when there is none.

        An error that is not retryable is raised as it is. When the attempts are used up,
        `retries-exhausted` is raised with the last error as its cause.
        """
        if not error.retryable:
            raise error
        limit = self._policy.max_retries
        if limit is not None and self.failures >= limit:
            raise MachineError(
                "retries-exhausted",
                f"{self.failures + 1} attempts failed, the last with {error.code}: {error.message}",
                where=error.where,
                hint=error.hint,
            ) from error
        self.failures += 1
        # The exponent is bounded: a float overflows after about a thousand failures.
        ceiling = self._policy.base_s * self._policy.factor ** min(self.failures - 1, 64)
        return min(self._policy.cap_s, ceiling) * self._policy.random_unit()

    def succeeded(self) -> None:
        """Progress was made: the next failure is a first one again."""
        self.failures = 0
