"""Which transaction a change belongs to, over the borders of runs."""

from typing import Any

import numpy as np

from headwater.source.postgres.decode.pgoutput import Begins, Commits
from headwater.source.postgres.decode.transactions import OpenTransaction, Table


def _numbers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def _begins(*entries: tuple[int, int, int]) -> Begins:
    message, xid, lsn = zip(*entries, strict=True) if entries else ((), (), ())
    times = [1000 + number for number in xid]
    return Begins(_numbers(*message), _numbers(*xid), _numbers(*lsn), _numbers(*times))


def _commits(*entries: tuple[int, int]) -> Commits:
    message, end = zip(*entries, strict=True) if entries else ((), ())
    return Commits(_numbers(*message), _numbers(*end), _numbers(*end), _numbers(*end))


def test_events_are_numbered_within_their_transactions() -> None:
    # B i i C B i C: transactions 5 and 6
    table = Table.of(None, _begins((0, 5, 50), (4, 6, 60)), _commits((3, 55), (6, 65)))
    place = table.of_messages(_numbers(1, 2, 5))
    assert table.xid[place].tolist() == [5, 5, 6]
    assert table.indexes(place).tolist() == [0, 1, 0]
    totals, known = table.totals(place)
    assert totals.tolist() == [2, 2, 1]
    assert known.all()
    assert table.still_open(None) is None


def test_open_transaction_goes_on_when_the_run_begins_inside_it() -> None:
    opened = OpenTransaction(5, 50, 1005, events=7)
    # i C B i: the rest of 5, and the begin of 6
    table = Table.of(opened, _begins((2, 6, 60)), _commits((1, 55)))
    place = table.of_messages(_numbers(0, 3))
    assert table.xid[place].tolist() == [5, 6]
    assert table.indexes(place).tolist() == [7, 0]
    _, known = table.totals(place)
    assert not known.any()  # 5 began earlier, 6 does not end here
    assert table.end_lsn.tolist() == [55, 0]
    assert table.still_open(opened) == OpenTransaction(6, 60, 1006)


def test_open_transaction_stays_open_when_the_run_has_only_its_rows() -> None:
    opened = OpenTransaction(5, 50, 1005, events=7)
    table = Table.of(opened, _begins(), _commits())
    assert table.still_open(opened) == opened
    later = opened.later(3, 2, '{"a":1}')
    assert (later.events, later.numbered, later.context) == (10, 2, '{"a":1}')


def test_numbers_leave_out_events_that_a_replay_may_not_have() -> None:
    opened = OpenTransaction(5, 50, 1005, events=9, numbered=7)
    table = Table.of(opened, _begins((2, 6, 60)), _commits((1, 55)))
    place = _numbers(0, 0, 1, 1, 1)
    numbered = np.array([False, True, True, False, True])
    assert table.numbers(place, numbered).tolist() == [7, 7, 0, 1, 1]
    assert table.indexes(place).tolist() == [9, 10, 0, 1, 2]
