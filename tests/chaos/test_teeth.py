"""The suite has teeth: with a bug planted in the worker, the same scenarios find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.plants import PLANTS
from tests.chaos.scenario import Kill, Nursery, Plan, run

pytestmark = pytest.mark.chaos

# Where each bug's window is open. A fixed small set, tried in order until one shows the bug.
WINDOWS: dict[str, tuple[Kill, ...]] = {
    "position_before_data": (
        Kill("log.append.before_begin", 12),
        Kill("log.append.before_commit", 9),
    ),
    "data_before_position": (Kill("plant.window", 2),),
    "pieces_visible": (Kill("log.append.after_commit", 12), Kill("log.append.after_commit", 14)),
    "pieces_kept": (Kill("log.piece.after_commit", 2),),
    "confirm_before_append": (Kill("capture.before_append", 10), Kill("capture.before_append", 14)),
    "cursor_before_ack": (Kill("delivery.before_write", 3), Kill("delivery.after_write", 3)),
    "ack_before_flush": (Kill("plant.window", 3),),
}
_ANY = Kill("delivery.after_write", 5)


def test_every_planted_bug_has_a_window_when_listed() -> None:
    assert WINDOWS.keys() == PLANTS.keys()


@pytest.mark.parametrize("plant", WINDOWS)
def test_suite_reports_a_violation_when_a_bug_is_planted(
    plant: str, workers: Nursery, arena: Path
) -> None:
    reproaches: list[str] = []
    for number, kill in enumerate(WINDOWS[plant]):
        directory = arena / str(number)
        directory.mkdir()
        reproaches += run(workers, directory, Plan(1, (kill,), plant=plant))
    assert reproaches, f"{plant} went unnoticed"


@pytest.mark.parametrize("plant", WINDOWS)
def test_suite_is_silent_when_the_same_kills_meet_no_bug(
    plant: str, workers: Nursery, arena: Path
) -> None:
    kill = next((k for k in WINDOWS[plant] if not k.failpoint.startswith("plant.")), _ANY)
    assert run(workers, arena, Plan(1, (kill,))) == []
