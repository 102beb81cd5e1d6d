"""Changes on the screen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headwater.app.changes import describe
from headwater.cli.changes import as_plain, block, line
from headwater.event import Event, Operation, Origin, Transaction


def event(op: Operation, before: Any = None, after: Any = None, **more: Any) -> Event:
    return Event(
        op=op,
        source=Origin("shop", "1", 0),
        ts_ms=1_700_000_000_123,
        table="orders",
        primary_key=("id",),
        before=before,
        after=after,
        sequence_number=42,
        transaction=Transaction(7, None, 0),
        **more,
    )


UPDATE = event(
    Operation.UPDATE,
    {"id": 1, "status": "paid", "note": None, "total": 3},
    {"id": 1, "status": "sent", "note": "x", "total": 3},
)


def test_block_shows_only_changed_columns_when_a_row_is_updated() -> None:
    text = block(describe(UPDATE, only_changed=True)).plain
    assert text.splitlines() == [
        "~ orders  id=1   #42 · tx 7 · 22:13:20.123",
        "    status  paid → sent",
        "    note    ∅ → x",
    ]


def test_line_shows_the_whole_row_when_inserted() -> None:
    text = line(describe(event(Operation.INSERT, None, {"id": 1, "a": None}), only_changed=False))
    assert text.plain == "      42  22:13:20.123  + orders  id=1  a=∅"
    assert "green" in str(text.spans)


def test_line_is_red_with_a_minus_when_deleted() -> None:
    text = line(describe(event(Operation.DELETE, {"id": 1, "a": "x"}), only_changed=False))
    assert "\N{MINUS SIGN} orders  id=1  a=x" in text.plain
    assert "red" in str(text.spans)


def test_line_shows_what_was_said_when_it_is_a_message() -> None:
    said = replace(
        event(Operation.MESSAGE, None, {"prefix": "outbox", "content": "aGk="}),
        table="",
        primary_key=None,
    )
    text = line(describe(said, only_changed=False))
    assert text.plain == "      42  22:13:20.123  » message    prefix=outbox, content=aGk="
    assert block(describe(said, only_changed=True)).plain.splitlines()[0] == (
        "» message     #42 · tx 7 · 22:13:20.123"
    )


def test_block_shows_the_old_key_when_the_key_changes() -> None:
    moved = event(Operation.UPDATE, {"id": 1, "a": "x"}, {"id": 2, "a": "x"})
    assert "    id  1 → 2" in block(describe(moved, only_changed=True)).plain


def test_block_marks_a_column_when_the_source_did_not_send_it() -> None:
    partial = event(Operation.UPDATE, {"id": 1}, {"id": 1}, unavailable_columns=("body",))
    assert "body  ⋯" in block(describe(partial, only_changed=True)).plain


def test_plain_change_lists_unavailable_columns_when_asked_for_json() -> None:
    partial = event(Operation.UPDATE, None, {"id": 1}, unavailable_columns=("body",))
    shown = as_plain(describe(partial, only_changed=False))
    assert shown["unavailable"] == ["body"]
    assert shown["after"] == {"id": 1}


def test_changes_are_printable_when_row_data_is_hostile() -> None:
    hostile = event(
        Operation.UPDATE, {"id": "\x1b[2J", "a\nb": "x"}, {"id": "\x1b[2J", "a\nb": "\u202ey"}
    )
    for text in (
        line(describe(hostile, only_changed=False)),
        block(describe(hostile, only_changed=True)),
    ):
        assert "\x1b" not in text.plain
        assert "\u202e" not in text.plain
        assert "\\u202ey" in text.plain


def test_types_count_as_a_change_when_values_look_equal() -> None:
    odd = event(Operation.UPDATE, {"id": 1, "a": 1}, {"id": 1, "a": 1.0})
    assert "a  1 → 1.0" in block(describe(odd, only_changed=True)).plain
