"""Filtering by a column's value fails closed (INV-11)."""

import dataclasses
from typing import Any

import pytest

from headwater.event import Event, EventBatch, Operation, Origin
from headwater.transform.rows import KeepRows

MINE = KeepRows("tenant", frozenset({7}))


def _event(op: Operation, **fields: Any) -> Event:
    return Event(op=op, source=Origin("sqlite", "1", 1), ts_ms=1, table="t", **fields)


@pytest.mark.parametrize(
    ("event", "kept"),
    [
        (_event(Operation.INSERT, after={"id": 1, "tenant": 7}), True),
        (_event(Operation.INSERT, after={"id": 1, "tenant": 8}), False),
        (_event(Operation.DELETE, before={"id": 1, "tenant": 7}), True),
        (_event(Operation.TRUNCATE), True),
        # A row that leaves or enters the filter concerns its readers.
        (_event(Operation.UPDATE, before={"tenant": 7}, after={"tenant": 8}), True),
        (_event(Operation.UPDATE, before={"tenant": 8}, after={"tenant": 7}), True),
    ],
)
def test_keep_rows_decides_by_both_images(event: Event, kept: bool) -> None:
    assert len(MINE(EventBatch.from_events([event]))) == int(kept)


@pytest.mark.parametrize(
    "event",
    [
        _event(Operation.DELETE, before={"id": 1}, before_is_key_only=True),
        _event(Operation.UPDATE, before={"id": 1}, after={"id": 1, "tenant": 7}),
        _event(Operation.UPDATE, after={"id": 1}, unavailable_columns=("tenant",)),
        # A message is no row, whatever its members are called.
        _event(Operation.MESSAGE, after={"prefix": "p", "content": "", "tenant": 7}),
    ],
)
def test_keep_rows_delivers_nothing_when_the_column_is_unavailable(event: Event) -> None:
    """INV-11: what cannot be decided is not delivered."""
    assert len(MINE(EventBatch.from_events([event]))) == 0


def test_keep_rows_keeps_order_and_numbers() -> None:
    base = _event(Operation.INSERT, after={"tenant": 7})
    events = [dataclasses.replace(base, sequence_number=number) for number in (3, 4, 5)]
    kept = MINE(EventBatch.from_events(events))
    assert kept.column("sequence_number").to_pylist() == [3, 4, 5]
