"""Events say the same, however a log is stored, deliveries are cut, and memory is short."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.contract import SourceBatch
from headwater.event import Event, EventBatch, Position
from headwater.format.cdcformat.cascade import Cascade
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.format.cdcformat.family.scratch import Workspace
from headwater.runtime import Subscription, SubscriptionPolicy, WholeTransactions
from headwater.testing.builders import IDENTITY
from headwater.testing.clock import FakeClock
from headwater.testing.memory import MemoryLog
from headwater.transform import Chain
from tests.unit.format.cdc_tables import added, batch, changed, removed, table

GROUP = table("group", "size")
PERSON = table("person", "chief_id", refers={"chief_id": "person"})
SEAT = table("seat", "group_id", "person_id", refers={"group_id": "group", "person_id": "person"})
NOTE = table("note", "text")  # related to nothing
TABLES = {
    GROUP: ("size",), PERSON: ("chief_id",), SEAT: ("group_id", "person_id"), NOTE: ("text",),
}  # fmt: skip
ENTITIES = EntityMap(
    {"seat": Entity(type="Seat", invalidates=("seats",)), "group": Entity(type="G", id=("size",))}
)


def event(draw: random.Random, ids: int) -> Event:
    of = draw.choice(list(TABLES))

    def value(*others: Any) -> Any:
        return draw.choice([draw.randint(1, ids), *others])

    def row() -> dict[str, Any]:
        names = [name for name in TABLES[of] if draw.random() < 0.8]
        return {"id": value("ä\n"), **{name: value(None, "ä\n") for name in names}}

    match draw.choice("iuud"):
        case "i":
            return added(of, row())
        case "d":
            return removed(of, row())
        case _:
            after = row()
            return changed(of, draw.choice([None, {**row(), "id": after["id"]}]), after)


@st.composite
def transactions(draw: st.DrawFn) -> list[list[Event]]:
    """Drawn by a seed: rows by the hundred are too many to be drawn one by one."""
    rows = random.Random(draw(st.integers(0, 1 << 32)))
    sizes = draw(st.lists(st.integers(1, 30) | st.integers(1, 250), min_size=1, max_size=3))
    ids = draw(st.sampled_from([3, 40, 400]))
    found = [[event(rows, ids) for _ in range(size)] for size in sizes]
    for number, transaction in enumerate(found):
        root = 1_000 + number  # its family is all before it
        for seat in range(draw(st.integers(0, 20))):
            child = added(SEAT, {"id": 1_000 + seat, "person_id": root})
            transaction.insert(rows.randint(0, len(transaction)), child)
        transaction.append(added(PERSON, {"id": root}))
    return found


def without_some(batch: EventBatch) -> EventBatch:
    """As the choice of tables or entities would leave it."""
    numbers = batch.column("sequence_number").to_pylist()
    return batch.filter(pa.array([number % 11 != 0 for number in numbers], pa.bool_()))


def stored(stream: EventBatch, sizes: list[int]) -> MemoryLog:
    """A log of these events, appended in pieces of these sizes."""
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    at = 0
    while at < len(stream):
        piece = stream.slice(at, sizes[at % len(sizes)])
        writer.append(SourceBatch(piece, Position({"at": at}), schemas=tuple(TABLES)))
        at += len(piece)
    writer.close()
    return log


def delivered(log: MemoryLog, cascade: Cascade, max_events: int) -> Iterator[EventBatch]:
    """What a subscription hands out."""
    reader = log.reader()
    whole = WholeTransactions(reader, cascade, before=without_some, after=Chain())
    subscription = Subscription(
        reader, log.cursor("c"), clock=FakeClock(), transform=whole,
        policy=SubscriptionPolicy(max_events=max_events),
    )  # fmt: skip
    subscription.finish()
    for delivery in subscription:
        yield delivery.events
        delivery.ack()
    whole.close()


@settings(max_examples=60)
@given(
    mutations=transactions(),
    granularity=st.sampled_from(["row", "atomic"]),
    limit=st.none() | st.integers(1, 4),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    max_events=st.integers(1, 15) | st.integers(10, 200),
    memory=st.sampled_from([1, 300, 1_500, 10_000, 64 << 20]),
)
def test_events_are_those_of_whole_transactions_when_deliveries_cut_them(
    mutations: list[list[Event]],
    granularity: Any,
    limit: int | None,
    sizes: list[int],
    max_events: int,
    memory: int,
) -> None:
    stream = batch(*mutations)
    log = stored(stream, sizes)
    cascade = Cascade(
        history=log.reader(), entities=ENTITIES, granularity=granularity, limit=limit,
        workspace=Workspace(max_bytes=memory),
    )  # fmt: skip
    found = EventBatch.concat(list(delivered(log, cascade, max_events)))
    assert found.equals(cascade(without_some(stream)))
