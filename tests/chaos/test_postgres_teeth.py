"""The PostgreSQL suite has teeth: with a bug planted in the worker, its scenarios find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.postgres_plants import PLANTS
from tests.chaos.postgres_scenario import Plan, Scenario
from tests.chaos.scenario import Kill, Nursery
from tests.fix_postgres import PostgresDatabase

pytestmark = pytest.mark.chaos

_WINDOW = (Kill("plant.window", 2),)
_OWING = Kill("capture.after_append", 4)
# Where each bug's window is open (some need no crash at all), and what gives the bug away.
WINDOWS: dict[str, tuple[tuple[Kill, ...], str]] = {
    "confirm_before_durable": (_WINDOW, "source-gap"),
    "position_of_a_row": (_WINDOW, "event id more than once"),
    "piece_for_whole": (_WINDOW, "the log ended at"),
    "positive_keys_only": ((), "rows differ"),
    "unchanged_as_null": ((), "doc: "),
    "second_block_lost": ((), "instead of"),
    "undone_part_kept": ((), "instead of"),
    "undone_transaction_kept": ((), "instead of"),
    "chunk_too_early": ((_OWING,), "a row was"),
}


def test_every_planted_bug_has_a_window_when_listed() -> None:
    assert WINDOWS.keys() == PLANTS.keys()


@pytest.mark.parametrize("plant", WINDOWS)
def test_suite_reports_a_violation_when_a_bug_is_planted(
    plant: str, workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills, sign = WINDOWS[plant]
    reproaches = Scenario(workers, chaos_database, arena, Plan(1, kills, plant=plant)).run()
    assert any(sign in reproach for reproach in reproaches), f"{plant} went unnoticed"


def test_suite_is_silent_when_the_same_kills_meet_no_bug(
    workers: Nursery, chaos_database: PostgresDatabase, arena: Path
) -> None:
    kills = (_OWING, Kill("capture.before_append", 45), Kill("capture.after_append", 30))
    assert Scenario(workers, chaos_database, arena, Plan(1, kills)).run() == []
