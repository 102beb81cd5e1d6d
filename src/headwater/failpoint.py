"""Ground: named points where a test can end or disturb the process.

Inert unless `HEADWATER_FAILPOINT` is set, and then a single dictionary look-up per passage. The
variable reads `name=action[@hit]`, several separated by commas; `hit` counts passages from 1:

    HEADWATER_FAILPOINT="log.append.before_commit=kill@3"

Actions: `kill` (SIGKILL to this process: no handler, no flush), `raise` (a TransientError),
`sleep:SECONDS`. `HEADWATER_FAILPOINT_TRACE=path` appends every name that was passed, so that a
test can prove that its point was reached.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import TransientError


@dataclass(slots=True)
class _Plan:
    action: str
    hit: int
    passed: int = 0


def _parse(spec: str) -> dict[str, _Plan]:
    plans: dict[str, _Plan] = {}
    for item in filter(None, (part.strip() for part in spec.split(","))):
        name, _, rest = item.partition("=")
        action, _, hit = rest.partition("@")
        plans[name] = _Plan(action=action or "kill", hit=int(hit or 1))
    return plans


_PLANS = _parse(os.environ.get("HEADWATER_FAILPOINT", ""))
_TRACE = os.environ.get("HEADWATER_FAILPOINT_TRACE", "")


def failpoint(name: str) -> None:
    """Pass the named point: nothing, unless the environment asks for a fault here."""
    if _TRACE:
        with Path(_TRACE).open("a") as trace:
            trace.write(f"{name}\n")
    plan = _PLANS.get(name)
    if plan is None:
        return
    plan.passed += 1
    if plan.passed == plan.hit:
        _act(name, plan.action)


def _act(name: str, action: str) -> None:
    verb, _, argument = action.partition(":")
    match verb:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise TransientError("failpoint", f"failpoint {name} was asked to fail")
        case "sleep":
            time.sleep(float(argument or 1))
        case _:
            raise ValueError(f"unknown failpoint action {action!r} at {name}")
