"""kill -9 at every failpoint, restart, and nothing is lost, doubled or out of order (INV-1 to 8).

Each scenario proves that its kill happened; a kill that does not fire fails the test. With
HEADWATER_CHAOS=full every failpoint has every seed.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.failpoints import failpoints, with_seeds
from tests.chaos.scenario import Kill, Nursery, Plan, run

pytestmark = pytest.mark.chaos

# Commands are PostgreSQL's matter, and killed there.
NAMES = [
    name
    for name in failpoints("source/sqlite", "log", "runtime", "sink", "deliver")
    if not name.startswith("log.command.")
]
SEEDS = (1, 2, 3)

# Passed once per start, so only their first passage is sure to come.
LATEST_HIT = 12
ONCE = {
    "log.create.before_link",
    "log.create.after_link",
    "log.open.before_commit",
    "log.open.after_commit",
    "source.sqlite.opened",
    "source.sqlite.renewed",
    "source.sqlite.install.before_commit",
}
FEW = {"log.piece.after_commit": 5, "source.sqlite.chunk_read": 3, "deadletter.after_write": 2}
# Not part of a capture: a worker of its own does it, on what an earlier one left behind.
STEPS = {
    "source.sqlite.upgrade.before_commit": "upgrade",
    "source.sqlite.uninstall.before_commit": "uninstall",
    "log.salvage.before_replace": "salvage",
    "log.salvage.before_swap": "salvage",
}
# Certainly passed while a worker comes up again.
WHILE_RECOVERING = (
    "log.open.before_commit",
    "log.open.after_commit",
    "source.sqlite.opened",
    "source.sqlite.install.before_commit",
    "source.sqlite.changes_read",
    "capture.after_read",
)


def plan_for(name: str, seed: int) -> Plan:
    """Where to kill: the seed chooses the passage, and a second kill in every third scenario."""
    chooser = random.Random(f"{name}/{seed}")
    hit = 1 if name in ONCE else chooser.randint(1, FEW.get(name, LATEST_HIT))
    kills = [Kill(name, hit)]
    if name in STEPS:
        kills = [Kill("delivery.after_ack", hit, examined=False), Kill(name, step=STEPS[name])]
    if seed % 3 == 0:
        kills.append(Kill(chooser.choice(WHILE_RECOVERING)))
    return Plan(seed, tuple(kills), retain="retain" in name or seed % 3 == 1)


def test_failpoints_are_enough_when_counted() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize(("name", "seed"), with_seeds(NAMES, SEEDS))
def test_log_and_sinks_are_exact_when_killed_at(
    name: str, seed: int, workers: Nursery, arena: Path
) -> None:
    assert run(workers, arena, plan_for(name, seed)) == []
