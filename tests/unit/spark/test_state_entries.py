"""When tables make a whole set, and up to where a table has everything."""

from __future__ import annotations

from headwater.event import TableId
from headwater.spark.state.entry import Entry, latest, out_of_step
from headwater.spark.state.positions import complete_until


def entry(sequence: int, applied: int, name: str = "a", version: int = 1) -> Entry:
    table = TableId(None, name)
    return Entry(sequence, table, "mirror", name, version, applied, False, 0, 0)


def test_set_is_whole_when_every_table_took_its_last_batch() -> None:
    last = latest([entry(10, 10), entry(20, 20), entry(15, 15, "b")])
    assert out_of_step(last, 20) == ()
    assert {key[0].name: each.sequence for key, each in last.items()} == {"a": 20, "b": 15}


def test_set_is_not_whole_when_a_table_is_behind_or_ahead() -> None:
    behind, ahead = entry(20, 10), entry(20, 30, "b")
    assert out_of_step(latest([behind, ahead]), 20) == (behind, ahead)
    # The others have come to where it went: it is ahead no more.
    assert out_of_step(latest([ahead]), 30) == ()


def test_table_that_is_kept_no_more_holds_no_set_back_and_needs_its_events_again() -> None:
    left = entry(10, 10).left(20)
    assert out_of_step(latest([entry(10, 10), left, entry(20, 20, "b")]), 20) == ()
    assert (left.is_left, left.sequence) == (True, 20)
    assert complete_until(10, left, 900, 1) == 10


def test_table_has_everything_up_to_the_state_when_it_was_in_step() -> None:
    assert complete_until(5, entry(5, 5), 900, 1) == 900
    assert complete_until(950, entry(5, 5), 900, 1) == 950
    assert complete_until(0, None, 900, 1) == 900  # it never had an event


def test_table_needs_its_events_again_when_it_was_parked_or_set_back_or_is_gone() -> None:
    assert complete_until(5, entry(800, 5), 900, 1) == 5
    assert complete_until(5, entry(800, 800), 900, 1) == 5
    assert complete_until(0, entry(800, 800), 900, 1) == 0


def test_only_positions_count_when_there_is_no_state() -> None:
    assert complete_until(70, None, None, 1) == 70
    assert complete_until(0, None, None, 41) == 40
