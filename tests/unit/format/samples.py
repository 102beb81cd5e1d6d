"""Two events whose bytes the tests of every format know by heart."""

from __future__ import annotations

from headwater.event import Event, EventBatch, Operation, Origin, Snapshot, Transaction

UPDATE = Event(
    op=Operation.UPDATE,
    source=Origin("pg", "0/16B6A70", 1000),
    ts_ms=2000,
    table="users",
    schema="public",
    primary_key=("id", "org"),
    before={"id": 1, "org": "ä"},
    after={"org": "ä", "id": 1, "n": None},
    transaction=Transaction(7, 2, 1),
    before_is_key_only=True,
    unavailable_columns=("bio",),
)
READ = Event(
    op=Operation.READ,
    source=Origin("pg", 'a"b\\c\n\x01', 0),
    ts_ms=3,
    table="t",
    after={},
    snapshot=Snapshot("s1", 5, is_last_chunk=True),
    transaction=Transaction(2**63 - 1, None, 0),
    before_unavailable_columns=("x", "y"),
)


def batch(*events: Event) -> EventBatch:
    return EventBatch.from_events(events)
