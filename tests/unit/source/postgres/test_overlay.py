"""A chunk's rows beside what the stream did to them meanwhile."""

import json
from typing import Any

import pyarrow as pa
import pytest

from headwater.event import Event, EventBatch, Operation, Origin
from headwater.source.postgres.tables.overlay import Overlay

NAMES = ("id", "name", "doc")


def _event(
    op: Operation, before: Any = None, after: Any = None, missing: tuple[str, ...] = ()
) -> Event:
    return Event(
        op=op,
        source=Origin("postgres", "0/1:0", 1),
        ts_ms=1,
        table="t",
        primary_key=("id",),
        before=before,
        after=after,
        unavailable_columns=missing,
    )


def _applied(rows: list[dict[str, Any]], *events: Event) -> list[dict[str, Any]]:
    overlay = Overlay(("id",))
    overlay.note(EventBatch.from_events(events).records)
    images = pa.array([json.dumps(row) for row in rows], pa.string())
    return [json.loads(image) for image in overlay.applied(images, NAMES).to_pylist()]


def _row(key: int, name: str = "old", doc: str = "long") -> dict[str, Any]:
    return {"id": key, "name": name, "doc": doc}


def test_row_is_left_out_when_the_stream_has_it_whole() -> None:
    update = _event(Operation.UPDATE, after=_row(1, "new"))
    assert _applied([_row(1), _row(2)], update) == [_row(2)]


def test_row_is_left_out_when_the_stream_deleted_it() -> None:
    delete = _event(Operation.DELETE, before={"id": 1})
    assert _applied([_row(1), _row(2)], delete) == [_row(2)]


def test_row_is_completed_when_the_stream_lacks_an_unchanged_value() -> None:
    update = _event(Operation.UPDATE, after={"id": 1, "name": "new"}, missing=("doc",))
    assert _applied([_row(1), _row(2)], update) == [_row(2), _row(1, "new")]


def test_row_is_completed_under_its_new_key_when_the_key_changed() -> None:
    moved = _event(
        Operation.UPDATE, before={"id": 1}, after={"id": 9, "name": "x"}, missing=("doc",)
    )
    again = _event(Operation.UPDATE, after={"id": 9, "name": "y"}, missing=("doc",))
    assert _applied([_row(1), _row(2)], moved, again) == [_row(2), _row(9, "y")]


def test_row_is_whole_when_a_partial_update_follows_a_whole_one() -> None:
    whole = _event(Operation.UPDATE, after=_row(1, "new", "longer"))
    partial = _event(Operation.UPDATE, after={"id": 1, "name": "newer"}, missing=("doc",))
    assert _applied([_row(1)], whole, partial) == []


def test_row_does_not_come_back_when_it_was_deleted_and_made_anew() -> None:
    delete = _event(Operation.DELETE, before={"id": 1})
    insert = _event(Operation.INSERT, after=_row(1, "reborn"))
    assert _applied([_row(1)], delete, insert) == []


def test_no_row_is_left_when_the_stream_emptied_the_table() -> None:
    partial = _event(Operation.UPDATE, after={"id": 1, "name": "x"}, missing=("doc",))
    assert _applied([_row(1), _row(2)], partial, _event(Operation.TRUNCATE)) == []


@pytest.mark.parametrize("number", ["0.1", "1e400", "3.14159265358979323846264338327950288"])
def test_numbers_keep_their_digits_when_a_row_is_completed(number: str) -> None:
    overlay = Overlay(("id",))
    update = _event(Operation.UPDATE, after={"id": 1, "name": "x"}, missing=("doc",))
    overlay.note(EventBatch.from_events([update]).records)
    images = pa.array([f'{{"id":1,"name":"old","doc":{number}}}'], pa.string())
    assert overlay.applied(images, NAMES).to_pylist() == [f'{{"id":1,"name":"x","doc":{number}}}']
