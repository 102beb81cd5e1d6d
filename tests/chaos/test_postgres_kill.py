"""PostgreSQL: kill -9 at every failpoint; the log holds each committed change once (INV-6 to 8).

Each scenario proves that its kill happened; a kill that does not fire fails the test. With
HEADWATER_CHAOS=full every failpoint has every seed.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.failpoints import FULL, failpoints, with_seeds
from tests.chaos.postgres_scenario import Outage, Plan, Scenario
from tests.chaos.scenario import Kill, Nursery
from tests.fix_postgres import PostgresDatabase

pytestmark = pytest.mark.chaos

SEEDS = range(1, 9)
LONG_SEEDS = range(1, 4) if FULL else (1,)
HUGE_ROWS = 100_000

_CAPTURE = ("log.create.", "log.open.", "log.append.", "log.piece.", "log.command.", "capture.")
NAMES = [
    *failpoints("source/postgres"),
    *(name for name in failpoints("log", "runtime") if name.startswith(_CAPTURE)),
]
# Passed once per start, so only their first passage is sure to come.
ONCE = {
    "log.create.before_link",
    "log.create.after_link",
    "log.open.before_commit",
    "log.open.after_commit",
    "source.postgres.before_slot",
    "source.postgres.slot_created",
    "source.postgres.slot_checked",
    "source.postgres.stream_started",
    "source.postgres.tables_published",
}
LATEST_HIT = 12
FEW = {
    "log.piece.after_commit": 5,
    "source.postgres.spooled": 5,
    "source.postgres.spool_handed_on": 1,
}
# Only a capture that goes on from an earlier one passes these.
RESUMED = {"source.postgres.slot_checked", "source.postgres.tables_published"}
# Only a capture whose first load was cut off passes these.
OWING = {"source.postgres.backfill_read", "source.postgres.backfill_placed"}
# Only a capture that is asked for rows passes these, once for each command.
ASKED = {
    "source.postgres.command_taken",
    "log.command.before_commit",
    "log.command.after_commit",
}
ASKS = ("doc", "quiet", "orders")
# Only a capture without a replication connection passes these.
BY_SQL = {
    "source.postgres.peeked",
    "source.postgres.peek_handed_on",
    "source.postgres.slot_advanced",
}
# Certainly passed while a worker comes up again, whatever the first one left.
WHILE_RECOVERING = ("log.open.before_commit", "log.open.after_commit", "capture.after_read")


def plan_for(name: str, seed: int) -> Plan:
    """Where to kill: the seed chooses the passage, a second kill and when the server dies too."""
    chooser = random.Random(f"{name}/{seed}")
    latest = len(ASKS) if name in ASKED else FEW.get(name, LATEST_HIT)
    hit = 1 if name in ONCE else chooser.randint(1, latest)
    kills = [Kill(name, hit)]
    if name in OWING:
        # The first append is the decision to use the slot, the next ones are chunks.
        kills.insert(0, Kill("capture.after_append", chooser.randint(2, 9)))
    if name in RESUMED:
        kills.insert(0, Kill("capture.after_confirm", chooser.randint(2, 40)))
    if chooser.random() < 0.3:
        kills.append(Kill(chooser.choice(WHILE_RECOVERING)))
    outage = chooser.choice([Outage.NEVER, Outage.BETWEEN_WORKERS, Outage.UNDER_A_WORKER])
    transports = ("sql",) if name in BY_SQL else ("replication",)
    asks = ASKS if name in ASKED else ()
    return Plan(seed, tuple(kills), outage=outage, transports=transports, asks=asks)


def test_failpoints_are_enough_when_counted() -> None:
    assert len(NAMES) >= 20


@pytest.mark.parametrize(("name", "seed"), with_seeds(NAMES, SEEDS))
def test_log_is_exact_when_killed_at(
    name: str, seed: int, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    assert Scenario(workers, chaos_database, arena, plan_for(name, seed)).run() == []


@pytest.mark.parametrize("seed", LONG_SEEDS)
def test_log_is_exact_when_killed_again_and_again_while_rows_are_owed(
    seed: int, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills = (
        Kill("source.postgres.chunk_read", 9),
        Kill("capture.after_append", 3),
        Kill("source.postgres.backfill_read", 4),
        Kill("log.append.before_commit", 5),
        Kill("source.postgres.backfill_placed", 4),
    )
    assert Scenario(workers, chaos_database, arena, Plan(seed, kills)).run() == []


@pytest.mark.parametrize("seed", LONG_SEEDS)
def test_log_is_exact_when_killed_again_and_again_while_asked_rows_are_read(
    seed: int, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills = (
        Kill("log.command.before_commit", 2),
        Kill("source.postgres.backfill_read", 3),
        Kill("source.postgres.backfill_placed", 2),
    )
    plan = Plan(seed, kills, asks=ASKS)
    assert Scenario(workers, chaos_database, arena, plan).run() == []


def test_log_is_exact_when_transactions_are_huge(
    workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills = (Kill("source.postgres.spooled", 30), Kill("log.piece.after_commit", 100))
    plan = Plan(1, kills, outage=Outage.BETWEEN_WORKERS, largest=HUGE_ROWS)
    assert Scenario(workers, chaos_database, arena, plan).run() == []


@pytest.mark.parametrize("outage", [Outage.NEVER, Outage.BETWEEN_WORKERS])
def test_log_is_exact_when_every_second_worker_reads_by_sql(
    outage: Outage, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    """Each transport goes on where the other was killed."""
    kills = (
        Kill("capture.after_append", 12),
        Kill("source.postgres.gulp_taken", 9),
        Kill("source.postgres.peek_handed_on", 4),
        Kill("log.append.before_commit", 7),
        Kill("source.postgres.slot_advanced", 3),
        Kill("capture.after_confirm", 8),
    )
    plan = Plan(1, kills, outage=outage, transports=("sql", "replication"))
    assert Scenario(workers, chaos_database, arena, plan).run() == []


def test_log_is_exact_when_transactions_are_huge_and_read_by_sql(
    workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills = (Kill("source.postgres.peek_handed_on", 5), Kill("log.piece.after_commit", 100))
    plan = Plan(1, kills, largest=HUGE_ROWS // 5, transports=("sql",))
    assert Scenario(workers, chaos_database, arena, plan).run() == []
