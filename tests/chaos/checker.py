"""What must hold after any crash, checked without asking the product.

Pure: evidence in, reproaches out. An empty list means that all is well.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from headwater.event import Operation
from tests.chaos.evidence import Evidence, Seen
from tests.chaos.workload import KEYS, History, Key, Row, State


def check(evidence: Evidence, history: History, *, finished: bool) -> list[str]:
    """Everything that is wrong; `finished` asks for completeness, not only a sound prefix."""
    found = [
        *evidence.conflicts,
        *_numbering(evidence),
        *_changes(evidence, history, finished=finished),
        *_borders(evidence, history),
        *_contexts(evidence, history),
        *_sink(evidence),
        *_file(evidence, finished=finished),
    ]
    if finished:
        found += _complete(evidence, history)
    return found


def _numbering(evidence: Evidence) -> Iterator[str]:
    """INV-8: dense sequence numbers; no event and no offset stands twice."""
    numbers = [event.sequence for event in evidence.events]
    if numbers != list(range(1, evidence.head + 1)):
        yield f"sequence numbers are not 1 to {evidence.head}: {_gaps(numbers)}"
    for name, values in (
        ("event id", [event.event_id for event in evidence.events]),
        ("offset", [event.offset for event in evidence.events]),
    ):
        twice = [value for value, count in Counter(values).items() if count > 1]
        if twice:
            yield f"{name} more than once: {twice[:5]}"


def _changes(evidence: Evidence, history: History, *, finished: bool) -> Iterator[str]:
    """INV-6: each committed change once, in order, with images that fit the rows before it."""
    ids = [event.change_id for event in evidence.events if event.change_id is not None]
    if not ids:
        return
    last = history.last.change_id if finished else ids[-1]
    expected = [i for i in range(ids[0], last + 1) if i not in history.markers]
    if ids != expected:
        yield f"changes {ids[0]} to {last} are not each there once in order: {_gaps(ids)}"
        return
    start = ids[0] - 1
    while start in history.markers and start not in history.borders():
        start -= 1
    if start not in history.borders():
        yield f"the log begins inside a transaction, at change {ids[0]}"
        return
    yield from _replay(evidence.events, start, history)


def _replay(events: list[Seen], start: int, history: History) -> Iterator[str]:
    borders = history.borders()
    rows: State = {table: dict(held) for table, held in borders[start].items()}
    for event in events:
        yield from _apply(rows, event)
        after = event.change_id
        if after in borders and not _alike(rows, borders[after]):
            yield f"after change {after} the rows are not what the transaction left"
            return


def _apply(rows: State, event: Seen) -> Iterator[str]:
    if event.op is Operation.SCHEMA_CHANGE:
        return
    held = rows[event.table]
    if event.op is Operation.READ:
        row = _require(event.after)
        key = key_of(event.table, row)
        if key not in held or not _fits(row, held[key]):
            yield f"{event.offset}: a snapshot row is not the row at this point of the log"
        held[key] = row
        return
    known: Row = {}
    if event.before is not None:
        known = held.pop(key_of(event.table, event.before), {})
        if not known or not _fits(event.before, known):
            yield f"change {event.offset}: the before image is not the row before it"
    if event.after is not None:
        key = key_of(event.table, event.after)
        if key in held:
            yield f"change {event.offset}: its key is taken"
        held[key] = {**known, **event.after}


def _borders(evidence: Evidence, history: History) -> Iterator[str]:
    """INV-7: what is visible ends where a transaction ended, and so does every border in it."""
    committed = set(history.borders())
    by_sequence = {event.sequence: event.change_id for event in evidence.events}
    for sequence in {*evidence.borders, evidence.head} - {0}:
        change_id = by_sequence.get(sequence)
        if change_id is not None and change_id not in committed:
            yield f"a border at change {change_id}, inside a transaction"


def _contexts(evidence: Evidence, history: History) -> Iterator[str]:
    for event in evidence.events:
        wanted = history.contexts.get(event.change_id or 0)
        if event.context != (None if wanted is None else json.loads(wanted)):
            yield f"change {event.offset} has context {event.context}, not {wanted}"


def _sink(evidence: Evidence) -> Iterator[str]:
    """INV-1: nothing before the cursor is missing in the sink; new events come in order."""
    held = {event.sequence for event in (*evidence.recorded, *evidence.letters)}
    acked = evidence.cursors.get("record", 0)
    missing = sorted(set(range(1, acked + 1)) - held)
    if missing:
        yield f"acknowledged up to {acked} but never written: {missing[:5]}"
    firsts = list(dict.fromkeys(event.sequence for event in evidence.recorded))
    if firsts != sorted(firsts):
        yield "the sink saw new events out of order"
    letters = [event.sequence for event in evidence.letters]
    if letters != sorted(set(letters)):
        yield "a dead letter stands twice or out of order"


def _file(evidence: Evidence, *, finished: bool) -> Iterator[str]:
    """The file sink: never acknowledged beyond what is durable, and exactly once in the end."""
    acked = evidence.cursors.get("file", 0)
    if acked > evidence.file_durable:
        yield f"the file holds events up to {evidence.file_durable}, {acked} are acknowledged"
    offsets = [event.offset for event in evidence.events]
    durable = offsets if finished else offsets[: evidence.file_durable]
    if evidence.file_offsets[: len(durable)] != durable:
        yield "the file does not hold each event once in order"
    if finished and len(evidence.file_offsets) != len(offsets):
        yield f"the file has {len(evidence.file_offsets)} events, the log {len(offsets)}"


def _complete(evidence: Evidence, history: History) -> Iterator[str]:
    """A consumer that began with nothing holds exactly the rows of the source now."""
    for name, acked in evidence.cursors.items():
        if acked != evidence.head:
            yield f"consumer {name} ends at {acked}, the log at {evidence.head}"
    rows: State = {table: {} for table in KEYS}
    for event in evidence.events:
        if event.op is Operation.SCHEMA_CHANGE:
            continue
        if event.before is not None:
            rows[event.table].pop(key_of(event.table, event.before), None)
        if event.after is not None:
            rows[event.table][key_of(event.table, event.after)] = event.after
    for table, wanted in history.last.state.items():
        differing = [
            k for k in rows[table].keys() | wanted.keys() if rows[table].get(k) != wanted.get(k)
        ]
        if differing:
            keys = sorted(differing, key=repr)[:5]
            yield f"{table}: the replayed log and the source differ at {keys}"


def key_of(table: str, row: Row) -> Key:
    """The row's key, by the application's own knowledge of its tables."""
    return tuple(row[name] for name in KEYS[table])


def _alike(left: State, right: State) -> bool:
    """Same rows. A column that only one side knows was added meanwhile."""
    return all(
        left[table].keys() == right[table].keys()
        and all(_fits(row, right[table][key]) for key, row in left[table].items())
        for table in KEYS
    )


def _fits(image: Row, row: Row) -> bool:
    return all(image[name] == row[name] for name in image.keys() & row.keys())


def _require(image: Row | None) -> Row:
    assert image is not None
    return image


def _gaps(numbers: list[int]) -> str:
    steps = [f"{a}→{b}" for a, b in pairwise(numbers) if b != a + 1]
    ends = f"{numbers[0]}…{numbers[-1]}" if numbers else "none"
    return f"{ends}, steps {steps[:5]}"
