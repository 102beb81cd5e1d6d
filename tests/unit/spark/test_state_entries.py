"""When tables make a whole set, and up to where a table has everything."""

from __future__ import annotations

from headwater.event import TableId
from headwater.spark.state.entry import (
    Entry,
    Key,
    latest,
    nothing_until,
    out_of_step,
    passed_over,
    without_events,
)
from headwater.spark.state.positions import complete_until, newly_kept, resumes
from headwater.spark.state.table import Written
from headwater.spark.table.target import Standing


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


def test_table_that_is_kept_no_more_holds_no_set_back_and_goes_on_where_it_left() -> None:
    left = entry(10, 10).left(20, before=15)
    assert out_of_step(latest([entry(10, 10), left, entry(20, 20, "b")]), 20) == ()
    assert (left.is_left, left.sequence) == (True, 20)
    # It lacked nothing up to the end of the batch before, unless it was behind then.
    assert resumes(there(10), left, 1) == 15
    assert resumes(there(4), entry(10, 4).left(20, before=15), 1) == 4
    assert resumes(GONE, left, 3) == 2
    assert resumes(GONE, None, 3, 8) == 8


def test_set_is_not_whole_when_the_first_event_of_a_table_has_failed() -> None:
    failed = without_events((TableId(None, "b"), "mirror"), 20, 10)
    assert out_of_step(latest([entry(20, 20), failed]), 20) == (failed,)
    assert complete_until(GONE, failed, 20, 4) == 3


def test_nothing_came_of_a_table_as_far_as_any_of_its_modes_tells() -> None:
    to_come = without_events((TableId(None, "b"), "mirror"), 20)
    told = (entry(10, 10), to_come, passed_over(TableId(None, "c"), "mirror", 30))
    assert [nothing_until(told, TableId(None, name)) for name in "abc"] == [0, 20, 0]
    assert complete_until(GONE, to_come, 900, 4) == 900


def test_table_is_newly_kept_when_the_stream_left_it_out_or_kept_it_in_other_modes() -> None:
    never, a, b = (TableId(None, name) for name in ("never", "a", "b"))
    last = (
        entry(10, 10),
        entry(10, 10, "b").left(20, before=10),
        passed_over(never, "mirror", 30),
    )
    known: dict[Key, int] = {(table, "mirror"): 1 for table in (a, b, never)}
    assert newly_kept(Written(30, last), known) == {(b, "mirror"), (never, "mirror")}
    modes: dict[Key, int] = {(a, "scd2"): 1, (TableId(None, "new"), "mirror"): 1}
    # Of a table without an entry in any mode there was nothing.
    assert newly_kept(Written(30, last), modes) == {(a, "scd2")}
    # One that is behind has a place of its own, unless that was given up.
    assert newly_kept(Written(30, (*last, entry(20, 10))), known) == {*known}
    # What begins after all that the stream has seen is only new, and so is all of a new stream.
    assert newly_kept(Written(30, last), {(a, "scd2"): 31}) == set()
    assert newly_kept(Written(), known) == set()


def there(applied: int) -> Standing:
    return Standing(1, applied)


GONE = Standing(None, 0)


def test_table_has_everything_up_to_the_state_when_it_was_in_step() -> None:
    assert complete_until(there(5), entry(5, 5), 900, 1) == 900
    assert complete_until(there(950), entry(5, 5), 900, 1) == 950
    assert complete_until(GONE, None, 900, 1) == 900  # it never had an event


def test_table_needs_its_events_again_when_it_was_parked_or_set_back_or_is_gone() -> None:
    assert complete_until(there(5), entry(800, 5), 900, 1) == 5
    assert complete_until(there(5), entry(800, 800), 900, 1) == 5
    assert complete_until(GONE, entry(800, 800), 900, 4) == 3


def test_only_positions_count_when_there_is_no_state() -> None:
    assert complete_until(there(70), None, 0, 1) == 70
    assert complete_until(GONE, None, 0, 41) == 40
