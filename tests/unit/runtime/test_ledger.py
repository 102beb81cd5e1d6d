from __future__ import annotations

import numpy as np
import pytest

from headwater.errors import StateError
from headwater.runtime.ledger import Borders, Ledger


def _at(*borders: int) -> Borders:
    return np.array(borders, dtype=np.int64)


def test_ledger_stays_when_nothing_is_acknowledged() -> None:
    """INV-1."""
    ledger = Ledger(10)
    ledger.deliver(15, _at(12, 15))
    assert ledger.settled() == 10


def test_ledger_waits_for_the_first_when_later_deliveries_are_acknowledged() -> None:
    ledger = Ledger(0)
    first, second = ledger.deliver(5, _at(5)), ledger.deliver(9, _at(7, 9))
    ledger.ack(second)
    assert ledger.settled() == 0
    ledger.ack(first)
    assert ledger.settled() == 9


def test_ledger_stops_at_the_border_when_a_delivery_ends_inside_a_transaction() -> None:
    ledger = Ledger(0)
    first = ledger.deliver(5, _at(3))
    second = ledger.deliver(10, _at())
    third = ledger.deliver(12, _at(11, 12))
    ledger.ack(first)
    assert ledger.settled() == 3
    ledger.ack(second)
    assert ledger.settled() == 3
    ledger.ack(third, 11)
    assert ledger.settled() == 11


def test_ledger_accepts_the_rest_when_a_prefix_was_acknowledged() -> None:
    ledger = Ledger(0)
    token = ledger.deliver(6, _at(2, 4, 6))
    ledger.ack(token, 2)
    ledger.ack(token, 4)
    assert ledger.settled() == 4
    ledger.ack(token)
    assert ledger.settled() == 6


@pytest.mark.parametrize(
    ("upto", "code"),
    [
        (None, "ack-spent"),
        (2, "ack-spent"),
        (3, "ack-spent"),
        (7, "ack-outside-batch"),
        (0, "ack-outside-batch"),
    ],
)
def test_ledger_refuses_when_the_acknowledgement_is_spent_or_outside(
    upto: int | None, code: str
) -> None:
    ledger = Ledger(0)
    token = ledger.deliver(6, _at(2, 6))
    ledger.ack(token)
    with pytest.raises(StateError) as caught:
        ledger.ack(token, upto)
    assert caught.value.code == code


def test_ledger_refuses_when_the_prefix_ends_inside_a_transaction() -> None:
    ledger = Ledger(0)
    token = ledger.deliver(6, _at(2, 6))
    with pytest.raises(StateError) as caught:
        ledger.ack(token, 3)
    assert caught.value.code == "ack-inside-transaction"
    assert ledger.settled() == 0


def test_ledger_refuses_when_the_token_is_of_another_ledger() -> None:
    token = Ledger(0).deliver(3, _at(3))
    other = Ledger(0)
    other.deliver(3, _at(3))
    with pytest.raises(StateError) as caught:
        other.ack(token)
    assert caught.value.code == "ack-unknown"


def test_ledger_takes_an_acknowledgement_back_when_the_cursor_could_not_move() -> None:
    ledger = Ledger(0)
    token = ledger.deliver(3, _at(3))
    ledger.unack(token, ledger.ack(token))
    assert ledger.settled() == 0
    ledger.ack(token)
    assert ledger.settled() == 3


def test_ledger_forgets_when_settled_deliveries_are_released() -> None:
    ledger = Ledger(0)
    tokens = [ledger.deliver(last, _at(last)) for last in (2, 4, 6)]
    ledger.ack(tokens[0])
    ledger.ack(tokens[1])
    ledger.release(ledger.settled())
    assert ledger.in_flight == 1
    assert ledger.settled() == 4
