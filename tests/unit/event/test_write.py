"""What a sink may do with an event: a partial row is never written whole (INV-10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.event import (
    Delete,
    Event,
    Merge,
    NoWrite,
    Operation,
    Origin,
    Replace,
    RowWrite,
    Truncate,
    row_write,
)

ROW = {"id": 1, "org": 2, "bio": "x"}
INSERT = Event(Operation.INSERT, Origin("s", "o", 0), 1, "t", primary_key=("id", "org"), after=ROW)
UPDATE = replace(INSERT, op=Operation.UPDATE)
DELETE = replace(INSERT, op=Operation.DELETE, before=ROW, after=None)
KEY = {"id": 1, "org": 2}


@pytest.mark.parametrize(
    ("event", "write"),
    [
        (INSERT, Replace(KEY, ROW)),
        (replace(INSERT, op=Operation.READ), Replace(KEY, ROW)),
        (replace(INSERT, primary_key=None), Replace(None, ROW)),
        (replace(INSERT, primary_key=("id", "gone")), Replace(None, ROW)),
        (UPDATE, Replace(KEY, ROW)),
        (replace(UPDATE, before=KEY), Replace(KEY, ROW)),
        (replace(UPDATE, before={"id": 0, "org": 2}), Replace(KEY, ROW, {"id": 0, "org": 2})),
        (replace(UPDATE, before={"id": 0}), Replace(KEY, ROW)),
        (replace(UPDATE, after=KEY, unavailable_columns=("bio",)), Merge(KEY, KEY, ("bio",))),
        (
            replace(UPDATE, after=KEY, unavailable_columns=("bio",), before={"id": 9, "org": 2}),
            Merge(KEY, KEY, ("bio",), {"id": 9, "org": 2}),
        ),
        (
            replace(UPDATE, after={"id": 1}, unavailable_columns=("org",)),
            NoWrite("missing_primary_key"),
        ),
        (replace(UPDATE, after=None), NoWrite("missing_payload")),
        (DELETE, Delete(KEY)),
        (replace(DELETE, before={"id": 1}), NoWrite("missing_primary_key")),
        (replace(DELETE, primary_key=None), NoWrite("missing_primary_key")),
        (replace(INSERT, op=Operation.TRUNCATE, after=None), Truncate()),
        (replace(INSERT, op=Operation.SCHEMA_CHANGE), NoWrite("schema_change")),
        (replace(INSERT, op=Operation.MESSAGE), NoWrite("message")),
    ],
)
def test_write_is_what_the_event_allows(event: Event, write: RowWrite) -> None:
    assert row_write(event) == write


def test_key_is_none_when_a_column_of_it_is_missing() -> None:
    assert replace(INSERT, after={"id": 1}).key() is None
    assert replace(UPDATE, before={"org": 2}).old_key() is None
    assert INSERT.key() == KEY
