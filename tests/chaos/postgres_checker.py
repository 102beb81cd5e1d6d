"""What the log of a PostgreSQL capture must be after any crash, checked against the server's word.

Pure: evidence in, reproaches out. An empty list means that all is well.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headwater.event import Event, Operation
from tests.chaos.postgres_truth import Change, Key, Row, Rows
from tests.chaos.postgres_workload import KEYS


@dataclass(frozen=True, slots=True)
class Evidence:
    """The log, what the server says, and where the log ended when a worker was killed."""

    events: Sequence[Event]
    truth: Sequence[Change]
    rows: Rows
    heads: Sequence[int]
    contexts: dict[int, str]


def check(evidence: Evidence) -> list[str]:
    """Everything that is wrong."""
    return [
        *_numbering(evidence.events),
        *_changes(evidence),
        *_transactions(evidence),
        *_heads(evidence),
        *_replayed(evidence),
    ]


def _numbering(events: Sequence[Event]) -> Iterator[str]:
    """INV-8: dense sequence numbers; no event and no offset stands twice."""
    numbers = [event.sequence_number for event in events]
    if numbers != list(range(1, len(events) + 1)):
        yield f"sequence numbers are not 1 to {len(events)}"
    for name, values in (
        ("event id", [str(event.event_id) for event in events]),
        ("offset", [event.source.offset for event in events]),
    ):
        twice = [value for value, count in Counter(values).items() if count > 1]
        if twice:
            yield f"{name} more than once: {twice[:5]}"


def _changes(evidence: Evidence) -> Iterator[str]:
    """INV-6: each committed change once, in commit order, from the first captured to the last."""
    seen = [
        Change(event.transaction.tx_id, event.table, event.op.name)
        for event in evidence.events
        if event.transaction is not None and event.op is not Operation.SCHEMA_CHANGE
    ]
    if not seen:
        yield "the log has no change at all"
        return
    begin = next((i for i, it in enumerate(evidence.truth) if it.xid == seen[0].xid), None)
    if begin is None:
        yield f"transaction {seen[0].xid} is not known to the server"
        return
    wanted = list(evidence.truth[begin:])
    if seen == wanted:
        return
    place = next(
        (i for i, pair in enumerate(zip(seen, wanted, strict=False)) if pair[0] != pair[1]), None
    )
    place = min(len(seen), len(wanted)) if place is None else place
    yield (
        f"{len(seen)} changes instead of {len(wanted)}; the first that differs is number {place}: "
        f"{seen[place : place + 2]} instead of {wanted[place : place + 2]}"
    )


def _transactions(evidence: Evidence) -> Iterator[str]:
    """INV-7: a transaction is one run of events with dense indexes; its context is on all of it."""
    indexes: dict[int, list[int]] = defaultdict(list)
    for event in evidence.events:
        if event.transaction is None:
            continue
        xid = event.transaction.tx_id
        indexes[xid].append(event.transaction.event_index)
        wanted = evidence.contexts.get(xid)
        if event.context != (None if wanted is None else json.loads(wanted)):
            yield f"{event.source.offset} has context {event.context}, not {wanted}"
    for xid, found in indexes.items():
        if found != list(range(len(found))):
            yield f"transaction {xid} has event indexes {found[:5]}…"
    runs = [_group(event) for event in evidence.events]
    starts = Counter(b for a, b in pairwise([None, *runs]) if a != b)
    broken = [group for group, count in starts.items() if count > 1]
    if broken:
        yield f"not in one piece: {broken[:3]}"


def _heads(evidence: Evidence) -> Iterator[str]:
    """INV-7: what was visible when a worker was killed ended with a whole transaction or chunk."""
    for head in evidence.heads:
        if 0 < head < len(evidence.events):
            before, after = evidence.events[head - 1], evidence.events[head]
            if _group(before) == _group(after):
                yield f"the log ended at {head}, inside {_group(before)}"


def _group(event: Event) -> tuple[str, int]:
    """The transaction or the chunk of an event."""
    if event.transaction is not None:
        return "transaction", event.transaction.tx_id
    assert event.snapshot is not None
    return f"snapshot {event.snapshot.snapshot_id}", event.snapshot.chunk_index


def _replayed(evidence: Evidence) -> Iterator[str]:
    """A consumer that began with nothing holds exactly the rows of the database."""
    held: Rows = {table: {} for table in KEYS}
    gone: dict[str, set[Key]] = {table: set() for table in KEYS}
    for event in evidence.events:
        if event.op is not Operation.SCHEMA_CHANGE:
            yield from _apply(event, held[event.table], gone[event.table])
    for table, wanted in evidence.rows.items():
        found = held[table]
        differing = [key for key in found.keys() | wanted if found.get(key) != wanted.get(key)]
        if differing:
            some = sorted(differing, key=repr)[:3]
            shown = [(k, _brief(found.get(k)), _brief(wanted.get(k))) for k in some]
            yield f"{table}: {len(differing)} rows differ (key, replayed, database): {shown}"


def _apply(event: Event, held: dict[Key, Row], gone: set[Key]) -> Iterator[str]:
    if event.op is Operation.TRUNCATE:
        gone.update(held)
        held.clear()
        return
    old: Row = {}
    if event.before is not None:
        old_key = _key(event, event.before)
        old = held.pop(old_key, {})
        gone.add(old_key)
    if event.after is None:
        return
    key = _key(event, event.after)
    known = held.get(key, old)
    if event.op is Operation.READ:
        if key in gone:
            yield f"{event.source.offset}: a row was read that the log says is deleted"
        shared = event.after.keys() & known.keys()
        if any(event.after[name] != known[name] for name in shared):
            yield f"{event.source.offset}: a row was read that is not as the log says"
    elif event.op is Operation.INSERT and key in held:
        yield f"{event.source.offset}: a row was inserted that is there"
    gone.discard(key)
    kept = {name: known[name] for name in event.unavailable_columns if name in known}
    held[key] = event.after | kept


def _key(event: Event, image: Row) -> Key:
    return tuple(image[name] for name in KEYS[event.table])


def _brief(row: Row | None) -> Any:
    return row if row is None else {name: str(value)[:12] for name, value in row.items()}
