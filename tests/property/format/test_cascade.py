"""Cascades over columns are those that plain Python works out transaction by transaction."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.event import Event, Operation, TableSchema
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.format.cdcformat.json import CdcFormat, Granularity
from tests.unit.format.cdc_tables import (
    COMMENT,
    HISTORY,
    ORGANIZATION,
    POST,
    USER,
    added,
    batch,
    changed,
    removed,
)

Entry = dict[str, Any]
STALE = {"post": ("posts", "feed"), "user": ("users",)}
ENTITIES = EntityMap({n: Entity(type=n.title(), invalidates=q) for n, q in STALE.items()})
PARENTS = {"user": ("org_id", "organization"), "post": ("user_id", "user"),
           "comment": ("post_id", "post"), "organization": (None, None)}  # fmt: skip
NUMBERS = st.integers(1, 3) | st.none()


@st.composite
def events(draw: st.DrawFn) -> Event:
    schema: TableSchema = draw(st.sampled_from([ORGANIZATION, USER, POST, COMMENT]))
    column, _ = PARENTS[schema.table.name]

    def row() -> dict[str, Any]:
        other = {column: draw(NUMBERS)} if column else {"member_count": draw(st.integers(0, 2))}
        return {"id": draw(st.integers(1, 3)), **other}

    match draw(st.sampled_from("iuud")):
        case "i":
            return added(schema, row())
        case "d":
            return removed(schema, row())
        case _:
            after = row()
            return changed(schema, draw(st.none() | st.just({**row(), "id": after["id"]})), after)


def shown(event: Event) -> dict[str, Any]:
    return event.after or event.before or {}


def links(events: list[Event]) -> list[tuple[int, int]]:
    """Parent and child; of several changes of one parent, the first."""
    found = []
    for child, event in enumerate(events):
        for row in (shown(event), event.before or {}):
            column, table = PARENTS[event.table]
            value = row.get(column) if column else None
            for parent, other in enumerate(events):
                if other.table == table and value is not None and shown(other)["id"] == value:
                    if parent != child:
                        found.append((parent, child))
                    break
    return found


def roots(events: list[Event]) -> dict[int, int]:
    found = links(events)
    family = {n: {n} for n in range(len(events))}
    for parent, child in found:
        joined = family[parent] | family[child]
        for n in joined:
            family[n] = joined
    chosen = {}
    for n, members in family.items():
        caused = set()
        for parent, child in found:
            counted = (
                events[parent].op is Operation.UPDATE and events[child].op is not Operation.UPDATE
            )
            caused.add(parent if counted else child)
        free = members - caused
        top = members - {child for _, child in found}
        chosen[n] = min(free if len(free) == 1 else top if len(top) == 1 else members)
    return chosen


def entity(event: Event) -> tuple[str, str]:
    return event.table.title(), str(shown(event)["id"])


def fields(event: Event) -> list[str]:
    if event.op is Operation.UPDATE and event.before is not None and event.after is not None:
        names = [n for n in event.after if event.before.get(n, ...) != event.after[n]]
        return names + [n for n in event.before if n not in event.after]
    return list(shown(event))


def reason(events: list[Event], follower: int, root: int) -> str:
    op = events[follower].op
    if op is Operation.DELETE:
        return "parent_deleted" if events[root].op is Operation.DELETE else "entity_deleted"
    gained = any(
        parent == follower and events[child].op is Operation.INSERT
        for parent, child in links(events)
    )
    return "child_added" if op is Operation.INSERT or gained else "related_updated"


def told(events: list[Event], limit: int, *, atomic: bool) -> list[Entry | None]:
    """The cascade of each event; None for one that stands in another's."""
    chosen = roots(events)
    cascades: list[Entry | None] = []
    folded: set[int] = set()
    for n, event in enumerate(events):
        entries: dict[tuple[str, str], tuple[int, Entry]] = {}
        for other, follower in enumerate(events):
            if other == n or chosen[other] != n or entity(follower) == entity(event):
                continue
            before = entries.get(entity(follower), (0, {}))[1].get("changes", [])
            changes = list(dict.fromkeys([*before, *fields(follower)]))
            kind, number = entity(follower)
            entry = {"entity_type": kind, "entity_id": number, "changes": changes,
                     "reason": reason(events, other, n)}  # fmt: skip
            entries[entity(follower)] = (other, entry)
        listed = list(entries)[:limit]  # those that changed first
        folded |= {o for o in range(len(events)) if chosen[o] == n and entity(events[o]) in listed}
        by_place = sorted((entries[each] for each in listed), key=lambda e: e[0])
        complete = len(listed) == len(entries)
        cascades.append({**cascade(events, n, by_place, atomic), "complete": complete})
    return [None if atomic and n in folded else each for n, each in enumerate(cascades)]


def cascade(
    events: list[Event], root: int, entries: list[tuple[int, Entry]], atomic: bool
) -> Entry:
    word = {Operation.INSERT: "created", Operation.UPDATE: "updated", Operation.DELETE: "deleted"}
    stale = [(q, f"entity_{word[events[root].op]}") for q in STALE.get(events[root].table, ())]
    for other, entry in entries if atomic else ():
        stale += [(q, entry["reason"]) for q in STALE.get(events[other].table, ())]
    deleted = [e for n, e in entries if events[n].op is Operation.DELETE]
    return {
        "updated": [e for n, e in entries if events[n].op is not Operation.DELETE],
        "deleted": [{k: v for k, v in e.items() if k != "changes"} for e in deleted],
        "invalidations": [{"query": q, "reason": r} for q, r in dict.fromkeys(stale)],
    }


def cascade_of(tree: Entry) -> Entry:
    block = tree["metadata"]["custom_fields"]["headwater"]
    return {**tree["cascade"], "complete": block.get("cascade_complete", True)}


@settings(max_examples=400)
@given(
    st.lists(st.lists(events(), min_size=1, max_size=7), min_size=1, max_size=3),
    st.booleans(),
    st.none() | st.integers(1, 3),
)
def test_cascades_are_those_of_each_transaction_when_rows_refer_to_each_other(
    transactions: list[list[Event]], atomic: bool, limit: int | None
) -> None:
    granularity: Granularity = "atomic" if atomic else "row"
    cascades = Cascade(history=HISTORY, entities=ENTITIES, granularity=granularity, limit=limit)
    form = CdcFormat(entities=ENTITIES, granularity=granularity)
    records = form.encode(cascades(batch(*transactions)))
    expected = [each for e in transactions for each in told(e, limit or 99, atomic=atomic)]
    numbered = {n: each for n, each in enumerate(expected, 1) if each is not None}
    found = {tree["sequence_number"]: cascade_of(tree) for tree in map(json.loads, records)}
    assert found == numbered
