"""The envelope's rules, one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction, validate

INSERT = Event(Operation.INSERT, Origin("s", "o", 0), 1, "t", after={"id": 1})
UPDATE = replace(INSERT, op=Operation.UPDATE, before={"id": 0})
DELETE = replace(INSERT, op=Operation.DELETE, before={"id": 1}, after=None)
READ = replace(INSERT, op=Operation.READ)
DDL = replace(INSERT, op=Operation.SCHEMA_CHANGE)
TRUNCATE = replace(INSERT, op=Operation.TRUNCATE, after=None)
MESSAGE = replace(INSERT, op=Operation.MESSAGE, table="", after={"prefix": "", "content": "aGk="})
KEY_ONLY = replace(UPDATE, before_is_key_only=True)


@pytest.mark.parametrize(
    "event",
    [
        INSERT, UPDATE, DELETE, READ, DDL, TRUNCATE, MESSAGE, KEY_ONLY,
        replace(MESSAGE, transaction=Transaction(7, None, 0), context={"user": 1}),
        replace(UPDATE, before=None),
        replace(UPDATE, unavailable_columns=("bio",), before_unavailable_columns=("bio",)),
        replace(DELETE, before_unavailable_columns=("bio",)),
        replace(INSERT, transaction=Transaction(0, None, 5)),
        replace(INSERT, transaction=Transaction(0, 1, 0)),
        replace(INSERT, source=Origin("s", "", 0), schema=""),
    ],
)  # fmt: skip
def test_event_is_accepted_when_it_keeps_the_rules(event: Event) -> None:
    validate(EventBatch.from_events([INSERT, event]))


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (replace(INSERT, table=""), "table is empty"),
        (replace(INSERT, source=Origin("", "o", 0)), "source_name is empty"),
        (replace(INSERT, ts_ms=0), "ts is zero"),
        (replace(INSERT, after=None), "insert has no after"),
        (replace(INSERT, before={}), "insert has a before"),
        (replace(UPDATE, after=None), "update has no after"),
        (replace(DELETE, before=None), "delete has no before"),
        (replace(DELETE, after={}), "delete has an after"),
        (replace(READ, after=None), "read or schema change has no after"),
        (replace(DDL, after=None), "read or schema change has no after"),
        (replace(TRUNCATE, before={}), "truncate has an image"),
        (replace(TRUNCATE, after={}), "truncate has an image"),
        (replace(INSERT, before_is_key_only=True), "before_is_key_only is set without"),
        (replace(KEY_ONLY, before=None), "before_is_key_only is set without"),
        (replace(KEY_ONLY, before_unavailable_columns=("bio",)), "key-only before image lists"),
        (replace(DDL, unavailable_columns=("bio",)), "truncate or schema change lists"),
        (replace(TRUNCATE, before_unavailable_columns=("x",)), "truncate or schema change lists"),
        (replace(MESSAGE, table="t", schema="s"), "has table_schema, table_name"),
        (replace(MESSAGE, primary_key=("id",)), "has primary_key"),
        (replace(MESSAGE, before={}, schema_id=7), "has before, schema_id"),
        (replace(MESSAGE, unavailable_columns=("x",)), "has unavailable_columns"),
        (replace(MESSAGE, after=None), "nothing else"),
        (replace(MESSAGE, after={"prefix": "a"}), "nothing else"),
        (replace(MESSAGE, after={"prefix": None, "content": ""}), "nothing else"),
        (replace(MESSAGE, after={"prefix": "a", "content": "aGk"}), "nothing else"),
        (replace(MESSAGE, after={"prefix": "a", "content": "é"}), "nothing else"),
        (replace(MESSAGE, after={"prefix": "", "content": "", "x": 1}), "nothing else"),
        (replace(INSERT, unavailable_columns=("id",)), "in unavailable_columns stands in"),
        (replace(UPDATE, before_unavailable_columns=("id",)), "in before_unavailable_columns"),
        (replace(INSERT, transaction=Transaction(1, None, -1)), "event_index is negative"),
        (replace(INSERT, transaction=Transaction(1, 0, 0)), "total_events is not positive"),
        (replace(INSERT, transaction=Transaction(1, 2, 2)), "event_index is not below"),
    ],
)
def test_event_is_refused_when_it_breaks_a_rule(event: Event, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        validate(EventBatch.from_events([INSERT, event, INSERT]))
    assert caught.value.code == "event-invalid"


def test_event_is_refused_when_its_op_is_unknown() -> None:
    columns = {"op": [0], "table_name": "t", "source_name": "s", "ts_ms": 1}
    with pytest.raises(DataError, match="none of the operations"):
        validate(EventBatch.from_columns(columns))


def test_error_names_the_event_when_it_is_not_the_first() -> None:
    bad = replace(INSERT, after=None, table="orders", source=Origin("s", "0/9", 0))
    with pytest.raises(DataError) as caught:
        validate(EventBatch.from_events([INSERT, bad]))
    assert "'orders'" in caught.value.where
    assert "'0/9'" in caught.value.where


def test_nothing_is_refused_when_batch_is_empty() -> None:
    validate(EventBatch.concat([]))
