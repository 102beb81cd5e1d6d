"""Replay: messages become events by the rules of a transaction.

Rows and statements inside a transaction wait for its end, and are told before the marker of that
end; of a transaction that is rolled back or never ends, nothing is told. Everything that a replay
says follows from the recording: times are counted from one moment, offsets are message numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, assert_never

from headwater.errors import ConfigError, DataError
from headwater.event import (
    Event,
    EventBatch,
    Operation,
    Origin,
    Transaction,
    event_ids,
    validate,
)
from headwater.testing.replay.dialects import (
    DEFAULT_SCHEMAS,
    Abort,
    Begin,
    End,
    Remark,
    RowChange,
    Statement,
    step_of,
)
from headwater.testing.replay.fixture import Fixture, Message
from headwater.testing.replay.rows import row_event
from headwater.testing.replay.statements import table_change

START_MS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a recording says. `unfinished` tells of a transaction that it does not end."""

    events: tuple[Event, ...]
    unfinished: str | None
    source_uid: str

    def batch(self) -> EventBatch:
        """The events as a source would hand them to a log, numbered from 1 and with their ids."""
        batch = EventBatch.from_events(self.events)
        ids = event_ids(self.source_uid, batch.column("offset").to_pylist())
        index = batch.records.schema.get_field_index("event_id")
        field = batch.records.schema.field(index)
        return EventBatch(batch.records.set_column(index, field, ids)).with_sequence(1)


def replay(fixture: Fixture) -> Replayed:
    """The events of the recording; a message that means nothing is `fixture-invalid`."""
    machine = _Machine(fixture)
    for index, message in enumerate(fixture.messages):
        machine.take(index, message)
    return Replayed(tuple(machine.told), machine.unfinished(), f"fixture:{fixture.id}")


class _Machine:
    def __init__(self, fixture: Fixture) -> None:
        self._fixture = fixture
        self._begun: int | None = None  # the number of the message that began the transaction
        self._waiting: list[Event] = []
        self.told: list[Event] = []

    def take(self, index: int, message: Message) -> None:
        """One message more."""
        try:
            self._take(message)
        except (ValueError, DataError) as exc:
            reason = exc.message if isinstance(exc, DataError) else str(exc)
            raise self._refusal(index, reason) from exc

    def _take(self, message: Message) -> None:
        step = step_of(self._fixture.source_type, message.message_type, message.payload)
        match step:
            case Begin():
                self._begin(message)
            case End():
                self._end(message, alone=step.alone)
            case Abort():
                self._abort(message, alone=step.alone)
            case RowChange():
                origin = self._origin(message, _time(message))
                self._change(row_event(step.op, message.payload, origin, _time(message)))
            case Statement():
                self._change(self._schema_change(message, step.text))
            case Remark():
                self.told.append(self._marker(message, step.kind))
            case unreachable:
                assert_never(unreachable)

    def _begin(self, message: Message) -> None:
        if self._begun is not None:
            raise ValueError("begins a transaction inside another")
        self._begun = message.seq
        self.told.append(self._marker(message, "transaction_begin"))

    def _end(self, message: Message, *, alone: bool) -> None:
        if self._begun is None and not alone:
            raise ValueError("ends a transaction that was not begun")
        total = len(self._waiting)
        self.told += [
            replace(event, transaction=Transaction(self._begun or 0, total, place))
            for place, event in enumerate(self._waiting)
        ]
        self._waiting, self._begun = [], None
        self.told.append(self._marker(message, "transaction_end"))

    def _abort(self, message: Message, *, alone: bool) -> None:
        if self._begun is None and not alone:
            raise ValueError("rolls back a transaction that was not begun")
        discarded = {"discarded_events": len(self._waiting)}
        self._waiting, self._begun = [], None
        self.told.append(self._marker(message, "transaction_abort", discarded))

    def _change(self, event: Event) -> None:
        validate(EventBatch.from_events([event]))
        (self.told if self._begun is None else self._waiting).append(event)

    def _schema_change(self, message: Message, statement: str) -> Event:
        change = table_change(statement, DEFAULT_SCHEMAS[self._fixture.source_type])
        return Event(
            op=Operation.SCHEMA_CHANGE,
            source=self._origin(message, 0),
            ts_ms=_time(message),
            schema=change.schema,
            table=f"{change.table}__ddl_events",
            after=change.to_dict(),
        )

    def _marker(self, message: Message, kind: str, more: Mapping[str, Any] = {}) -> Event:
        return Event(
            op=Operation.READ,
            source=self._origin(message, _time(message)),
            ts_ms=_time(message),
            table=f"__marker__{kind}",
            after={
                **more,
                "fixture_seq": message.seq,
                "marker_type": kind,
                "source_message": message.message_type,
            },
        )

    def _origin(self, message: Message, timestamp_ms: int) -> Origin:
        return Origin(self._fixture.source_type, f"fixture_seq_{message.seq}", timestamp_ms)

    def _refusal(self, index: int, reason: str) -> ConfigError:
        kind = self._fixture.messages[index].message_type
        fix = f"correct this {kind}, or take it out of the recording"
        return self._fixture.fault(index, ".payload", reason, fix)

    def unfinished(self) -> str | None:
        """What is to be said of a transaction that is still open."""
        if self._begun is None:
            return None
        return f"the transaction of message {self._begun} was not committed before end of fixture"


def _time(message: Message) -> int:
    return START_MS + message.seq
