"""What columns tell of many events is what plain Python tells of each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.event import Event, EventBatch, Operation, Origin
from headwater.format.cdcformat.derive import derive
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.testing import strategies

Row = dict[str, Any]
ROWS = (Operation.INSERT, Operation.UPDATE, Operation.DELETE, Operation.READ)
THING = Entity(
    type="Thing", identifier="a", tenant="b", version="n", soft_delete="gone",
    deleted_when=(True, "x"), soft_delete_as="deleted",
)  # fmt: skip
UUID = "550E8400-E29B-41D4-A716-446655440000"
VALUES = st.sampled_from(
    [None, True, False, 0, 1, -7, 2**70, 1.0, 0.1, "", "x", "é", 'a"b\\c\n', UUID, "0" * 36,
     [], {}, [1, {"k": "]"}], [1, {"k": "}"}], {"z": 1, "y": [None]}, {"y": [None], "z": 1},
     "long " * 40, "long " * 40 + "!", ",", '{"a":1}', "\\", "\u2028"]
)  # fmt: skip
# The same written otherwise, or nearly the same: what a comparison of texts gets wrong.
TWINS = [
    ({"z": 1, "y": [None]}, {"y": [None], "z": 1}), ([1, {"k": 1}], [1, {"k": True}]),
    (1, 1.0), (1, True), (0, False), ("1", 1), (None, "null"), ("12345678", "1234567"),
    *((f"{'x' * size}a", f"{'x' * size}b") for size in (0, 7, 8, 15, 16, 40, 70, 200)),
]  # fmt: skip
TABLES = st.sampled_from([(None, "thing"), ("s", "thing"), (None, "tb_other")])


@st.composite
def near_events(draw: st.DrawFn) -> Event:
    """Events of few tables whose rows before and after are nearly the same."""
    schema, table = draw(TABLES)
    op = draw(st.sampled_from(ROWS))
    names = st.sampled_from(["id", "a", "b", "n", "gone", 'q"\\', "é"])
    after: Row = draw(st.dictionaries(names, VALUES, max_size=6))
    change = draw(st.dictionaries(names, VALUES, max_size=2))
    before: Row | None = {**after, **change} if draw(st.booleans()) else dict(change)
    if op in (Operation.INSERT, Operation.READ) or (op is Operation.UPDATE and draw(st.booleans())):
        before = None
    if before is not None and draw(st.booleans()):
        one, other = draw(st.sampled_from(TWINS))
        name = draw(names)
        before, after = {**before, name: one}, {**after, name: other}
    hidden = [n for n in change if n not in after] if draw(st.booleans()) else []
    return Event(
        op=op, source=Origin("s", "o", 1), ts_ms=1, table=table, schema=schema,
        primary_key=draw(st.sampled_from([None, ("id",), ("id", "a"), ("é",)])),
        before=before, after=None if op is Operation.DELETE else after,
        unavailable_columns=tuple(hidden) if op is Operation.UPDATE else (),
        before_is_key_only=before is not None and draw(st.booleans()),
    )  # fmt: skip


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def text(value: Any) -> str:
    if isinstance(value, str):
        return value.lower() if value == UUID else value
    return canonical(value)


def fields(event: Event) -> list[str]:
    before, after = event.before, event.after
    if event.op is not Operation.UPDATE or before is None or after is None:
        return list(after if after is not None else before or {})
    gone = [n for n in before if n not in after and n not in event.unavailable_columns]
    return [
        n for n in after if n not in before or canonical(before[n]) != canonical(after[n])
    ] + gone


def values(event: Event) -> Row | None:
    before, after = event.before, event.after
    if event.op is not Operation.UPDATE or before is None or after is None:
        return None
    if event.before_is_key_only or event.before_unavailable_columns:
        return None
    sides = (("before", before), ("after", after))
    return {n: {s: row[n] for s, row in sides if n in row} for n in fields(event)}


def key(event: Event) -> Row | None:
    row = event.before if event.op is Operation.DELETE else event.after
    names = event.primary_key or ()
    return {n: row[n] for n in names} if names and row and set(names) <= set(row) else None


def identity(event: Event) -> str | None:
    found = key(event)
    if found is None:
        return None
    parts = list(found.values())
    return text(parts[0]) if len(parts) == 1 else canonical(parts)


def deleted(row: Row | None) -> bool:
    found = (row or {}).get("gone")
    return found is True or found == "x"


def members(event: Event) -> Row:
    row = (event.before if event.op is Operation.DELETE else event.after) or {}
    if event.table != "thing":
        return {}
    told: Row = {}
    for member, name in (("entity_identifier", "a"), ("tenant_id", "b")):
        if row.get(name) is not None:
            told[member] = text(row[name])
    if type(row.get("n")) is int:
        told["version"] = row["n"]
    if "gone" in row:
        told["is_soft_deleted"] = deleted(row)
    return told


def check(events: list[Event]) -> None:
    found = derive(EventBatch.from_events(events), EntityMap({"thing": THING}))
    for place, event in enumerate(events):
        assert json.loads(found.changes.fields[place].as_py()) == fields(event)
        told = found.changes.values[place].as_py()
        assert canonical(told and json.loads(told)) == canonical(values(event))
        assert json.loads(found.id[place].as_py() or "null") == identity(event)
        written = found.key[place].as_py()
        assert canonical(written and json.loads(written)) == canonical(key(event))
        assert json.loads(f"{{{found.members[place].as_py()[1:]}}}") == members(event)
        soft = event.table == "thing" and event.op is Operation.UPDATE
        assert bool(found.soft_deletes[place]) == (
            soft and deleted(event.after) and not deleted(event.before)
        )


@settings(max_examples=300)
@given(st.lists(near_events(), min_size=1, max_size=12))
def test_columns_tell_what_each_event_tells_when_rows_are_nearly_the_same(
    events: list[Event],
) -> None:
    check(events)


@settings(max_examples=100)
@given(st.lists(strategies.events(ROWS), min_size=1, max_size=8))
def test_columns_tell_what_each_event_tells_when_events_are_any(events: list[Event]) -> None:
    check(events)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (r'{"a":"\u00e9"}', '{"a":"é"}', []),
        (r'{"a":"\/"}', '{"a":"/"}', []),
        (r'{"a":"\u00e9"}', '{"a":"e"}', ["a"]),
        ('{"a":[1,{"x":1,"y":2}]}', '{"a":[1,{"y":2,"x":1}]}', []),
        ('{"a":1.0}', '{"a":1.00}', ["a"]),
        ('{"\\u0061":1}', '{"a":1}', []),
        ('{"a":1,"a":2}', '{"a":2}', []),
    ],
)
def test_field_is_touched_when_its_value_is_another_and_not_when_its_text_is(
    before: str, after: str, changed: list[str]
) -> None:
    columns = {
        "op": [int(Operation.UPDATE)],
        "before": [before],
        "after": [after],
        "table_name": "t",
    }
    found = derive(EventBatch.from_columns(columns), EntityMap())
    assert json.loads(found.changes.fields[0].as_py()) == changed


@given(st.lists(near_events(), min_size=1, max_size=6), st.sampled_from([None, 1, "\t"]))
def test_columns_are_the_same_when_the_text_of_rows_is_not_compact(
    events: list[Event], indent: int | str | None
) -> None:
    batch = EventBatch.from_events(events)
    loose = {
        name: [
            t and json.dumps(json.loads(t), indent=indent, ensure_ascii=True)
            for t in batch.column(name).to_pylist()
        ]
        for name in ("before", "after")
    }
    columns = {name: batch.column(name) for name in batch.records.schema.names}
    again = derive(EventBatch.from_columns(columns | loose), EntityMap())
    once = derive(batch, EntityMap())
    assert again.changes.fields.equals(once.changes.fields)
    assert again.id.equals(once.id)
