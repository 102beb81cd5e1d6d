"""The PostgreSQL suite has teeth: with a bug planted in the worker, its scenarios find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.postgres_plants import PLANTS
from tests.chaos.postgres_scenario import Plan, Scenario
from tests.chaos.scenario import Kill, Nursery
from tests.fix_postgres import PostgresDatabase

pytestmark = pytest.mark.chaos

# Where each bug's window is open. Some need no crash at all.
_OWING = Kill("capture.after_append", 4)
WINDOWS: dict[str, tuple[Kill, ...]] = {
    "confirm_before_durable": (Kill("capture.before_append", 45),),
    "position_of_a_row": (Kill("capture.after_append", 45),),
    "piece_for_whole": (Kill("log.append.after_commit", 60),),
    "positive_keys_only": (),
    "unchanged_as_null": (),
    "second_block_lost": (),
    "undone_part_kept": (),
    "undone_transaction_kept": (),
    "chunk_too_early": (_OWING,),
}


def test_every_planted_bug_has_a_window_when_listed() -> None:
    assert WINDOWS.keys() == PLANTS.keys()


@pytest.mark.parametrize("plant", WINDOWS)
def test_suite_reports_a_violation_when_a_bug_is_planted(
    plant: str, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    plan = Plan(1, WINDOWS[plant], plant=plant)
    reproaches = Scenario(workers, chaos_database, arena, plan).run()
    assert reproaches, f"{plant} went unnoticed"
    print(plant, reproaches)


def test_suite_is_silent_when_the_same_kills_meet_no_bug(
    workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills = tuple(dict.fromkeys(kill for kills in WINDOWS.values() for kill in kills))
    assert Scenario(workers, chaos_database, arena, Plan(1, kills)).run() == []
