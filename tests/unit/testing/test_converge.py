"""What `assert_converges` gives a pipeline: all of a history, whatever of it was written before."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from headwater.testing.converge import _feed, _follow
from headwater.testing.history.log import History

ALL = 10**6


def _history(folder: Path, grown: int) -> History:
    history = History(folder / f"{grown}.hwlog", seed=3, transactions=12)
    history.grow(grown)
    return history


def _fed(history: History, *, again: bool) -> list[tuple[int, int, int]]:
    seen: list[tuple[int, int, int]] = []

    def give(after: int, until: int, batch_id: int) -> None:
        assert after < until <= history.head
        seen.append((after, until, batch_id))

    _feed(give, history, random.Random(3), 4, again=again)
    return seen


@pytest.mark.parametrize("again", [False, True])
def test_function_is_given_all_from_the_beginning_when_a_history_was_grown_before(
    tmp_path: Path, *, again: bool
) -> None:
    whole, *others = (_history(tmp_path, grown) for grown in (0, 5, ALL))
    seen = _fed(whole, again=again)
    ends = {until for _, until, _ in seen}
    assert {after for after, _, _ in seen} <= {0, *ends}
    assert (min(after for after, _, _ in seen), max(ends)) == (0, whole.ends[-1])
    assert seen != list(dict.fromkeys(seen))  # some came twice
    assert len(ends) == 4
    for history in others:
        assert _fed(history, again=again) == seen
        assert history.ends == whole.ends


@pytest.mark.parametrize(("grown", "stands"), [(0, 4), (5, 4), (ALL, 1)])
def test_job_takes_what_is_there_when_a_history_was_grown_or_finished_before(
    tmp_path: Path, grown: int, stands: int
) -> None:
    history = _history(tmp_path, grown)
    runs: list[int] = []
    lost: list[int] = []
    _follow(
        lambda: runs.append(history.head), lost.append, history, random.Random(3), 4, again=True
    )
    assert runs[-1] == history.ends[-1]
    assert history.left == 0
    assert len(set(runs)) == stands
    assert len(runs) - stands == len(lost) > 0
    assert set(lost) <= {0, *history.ends}
