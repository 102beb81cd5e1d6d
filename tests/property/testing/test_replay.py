"""Any recording replays to the same valid events every time, whole transactions or none of them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headwater.event import validate
from headwater.testing.replay import envelopes, parse_fixture, replay
from headwater.testing.replay.dialects import PROTOCOLS

Named = tuple[str, dict[str, Any]]

ROWS = {
    "postgres": ("Insert", "Update", "Delete"),
    "mysql": ("WriteRowsEvent", "UpdateRowsEvent", "DeleteRowsEvent"),
    "sqlserver": ("Capture", "Update", "Delete"),
}
BEGIN: dict[str, Named] = {
    "postgres": ("Begin", {}),
    "mysql": ("QueryEvent", {"sql": "BEGIN"}),
    "sqlserver": ("Control", {"kind": "begin_transaction"}),
}
END: dict[str, Named] = {
    "postgres": ("Commit", {}),
    "mysql": ("XidEvent", {}),
    "sqlserver": ("Control", {"kind": "commit_transaction"}),
}
ABORT: dict[str, Named | None] = {
    "postgres": None,
    "mysql": ("QueryEvent", {"sql": "ROLLBACK"}),
    "sqlserver": ("Control", {"kind": "rollback_transaction"}),
}
names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
images = st.dictionaries(names, st.none() | st.integers() | st.text() | st.booleans(), max_size=3)


@st.composite
def row(draw: st.DrawFn, source: str) -> Named:
    place = draw(st.integers(0, 2))
    before, after = draw(images), draw(images)
    payload: dict[str, Any] = {"schema": draw(st.none() | names), "table": draw(names)}
    if place > 0:
        payload["before"] = before
    if place < 2:
        payload["after"] = after
        missing = draw(st.lists(names, max_size=2))
        payload["unavailable_columns"] = [each for each in missing if each not in after]
    payload["primary_key"] = draw(st.none() | st.lists(names, max_size=2))
    return ROWS[source][place], payload


@st.composite
def statement(draw: st.DrawFn, source: str) -> Named:
    quoted = draw(st.lists(names.map(lambda name: '"' + name.replace('"', '""') + '"'), min_size=3))
    clauses = draw(st.lists(st.sampled_from(["ADD {} int", "DROP {}", "SET {}"]), min_size=1))
    said = ", ".join(clause.format(quoted[-1]) for clause in clauses)
    text = f"ALTER TABLE {quoted[0]}.{quoted[1]} {said}"
    return ("QueryEvent", {"sql": text}) if source == "mysql" else ("Ddl", {"statement": text})


@st.composite
def recordings(draw: st.DrawFn) -> tuple[str, list[tuple[str, list[Named]]]]:
    """A source and its groups of messages: `plain`, `end`, `abort`, perhaps `open` as the last."""
    source = draw(st.sampled_from(sorted(PROTOCOLS)))
    kinds = ["plain", "end", *(["abort"] if ABORT[source] else [])]
    order = draw(st.lists(st.sampled_from(kinds), max_size=4))
    order += draw(st.sampled_from([[], ["open"]]))
    changes = st.lists(st.one_of(row(source), statement(source)), max_size=4)
    return source, [(kind, draw(changes)) for kind in order]


def text_of(source: str, groups: list[tuple[str, list[Named]]]) -> str:
    messages: list[Named] = []
    for kind, changes in groups:
        ends = {"end": END[source], "abort": ABORT[source]}.get(kind)
        messages += [] if kind == "plain" else [BEGIN[source]]
        messages += changes
        messages += [] if ends is None else [ends]
    listed = [
        {"seq": seq, "message_type": kind, "payload": json.dumps(payload)}
        for seq, (kind, payload) in enumerate(messages)
    ]
    metadata = {"id": "p", "source_type": source, "protocol_version": PROTOCOLS[source]}
    return json.dumps({"metadata": metadata | {"fixture_version": 1}, "messages": listed})


@given(recordings())
def test_replay_is_the_same_and_valid_every_time(
    recording: tuple[str, list[tuple[str, list[Named]]]],
) -> None:
    source, groups = recording
    text = text_of(source, groups)
    first, second = replay(parse_fixture(text)), replay(parse_fixture(text))
    assert first == second
    assert first.batch().records.equals(second.batch().records)
    validate(first.batch())


@given(recordings())
def test_replay_tells_committed_changes_and_no_others(
    recording: tuple[str, list[tuple[str, list[Named]]]],
) -> None:
    source, groups = recording
    told = replay(parse_fixture(text_of(source, groups)))
    changes = [e for e in envelopes(told.events) if not e["table"].startswith("__marker__")]
    kept = [len(made) for kind, made in groups if kind in {"plain", "end"}]
    assert len(changes) == sum(kept)
    sizes = [len(made) for kind, made in groups if kind == "end" and made]
    inside = [each["transaction"] for each in changes if each["transaction"]]
    assert [each["total_events"] for each in inside if each["event_index"] == 0] == sizes
    assert (told.unfinished is not None) == any(kind == "open" for kind, _ in groups)
