"""Records that carry the log's own knowledge in headers, through a broker and back.

An envelope says what happened to a row. The log also knows the event's place in the order of
commits, its stable id, its context, and the shape of its table; a reader that keeps tables needs
them. They travel in headers, beside a record of any format that has one record for each event:

- `headwater-log`, `headwater-sequence`, `headwater-event-id`, `headwater-schema-id`: every record;
- `headwater-context`: where an event has one;
- `headwater-schema`: a table's shape, with its first event of each batch that is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pyarrow as pa

from headwater.contract import Format, Message, MessageFormat, SchemaHistory
from headwater.errors import DataError
from headwater.event import EVENT_SCHEMA, EventBatch

PREFIX = "headwater-"
LOG, SCHEMA = f"{PREFIX}log", f"{PREFIX}schema"
_SEQUENCE, _EVENT_ID = f"{PREFIX}sequence", f"{PREFIX}event-id"
_SCHEMA_ID, _CONTEXT = f"{PREFIX}schema-id", f"{PREFIX}context"
COLUMNS = {
    "sequence_number": _SEQUENCE,
    "event_id": _EVENT_ID,
    "schema_id": _SCHEMA_ID,
    "context": _CONTEXT,
}

Header = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class CarriedFormat:
    """A format whose records carry headers. Without a history it only reads.

    Implements contract.MessageFormat.
    """

    form: Format
    log_id: str = ""
    history: SchemaHistory | None = None

    @property
    def name(self) -> str:
        """The name of the format inside."""
        return self.form.name

    @property
    def content_type(self) -> str:
        """The media type of one record."""
        return self.form.content_type

    def encode(self, batch: EventBatch) -> Sequence[bytes]:
        """The records alone."""
        return self.form.encode(batch)

    def decode(self, records: Iterable[bytes]) -> EventBatch:
        """The events of records without headers: unnumbered."""
        return self.form.decode(records)

    def messages(self, batch: EventBatch) -> Sequence[Message]:
        """The messages of the format inside; a tombstone has the headers of its event."""
        made = self._inside(batch)
        if sum(message.value is not None for message in made) != len(batch):
            raise DataError("event-invalid", f"{self.name} has not one record for each event")
        headers = self._headers(batch)
        current: tuple[Header, ...] = ()
        carried = []
        for message in made:
            if message.value is not None:
                current = next(headers)
            carried.append(Message(message.key, message.value, (*message.headers, *current)))
        return carried

    def _inside(self, batch: EventBatch) -> Sequence[Message]:
        if isinstance(self.form, MessageFormat):
            return self.form.messages(batch)
        return [Message(None, record) for record in self.form.encode(batch)]

    def _headers(self, batch: EventBatch) -> Iterator[tuple[Header, ...]]:
        told: set[int] = set()
        names = ("sequence_number", "event_id", "schema_id", "context")
        columns = [batch.column(name).to_pylist() for name in names]
        for sequence, event_id, schema_id, context in zip(*columns, strict=True):
            headers = [
                (LOG, self.log_id.encode()),
                (_SEQUENCE, b"%d" % sequence),
                (_EVENT_ID, str(UUID(bytes=event_id)).encode()),
                (_SCHEMA_ID, b"%d" % schema_id),
            ]
            if context is not None:
                headers.append((_CONTEXT, context.encode()))
            if schema_id and schema_id not in told and self.history is not None:
                told.add(schema_id)
                headers.append((SCHEMA, self.history.schema(schema_id).encode().encode()))
            yield tuple(headers)

    def read_messages(self, messages: Iterable[Message]) -> EventBatch:
        """The events, as the log has them; a record without headers is a DataError."""
        given = list(messages)
        inside = [_without(message) for message in given]
        events = (
            self.form.read_messages(inside)
            if isinstance(self.form, MessageFormat)
            else self.form.decode(each.value for each in inside if each.value is not None)
        )
        headers = [dict(message.headers) for message in given if message.value is not None]
        if len(events) != len(headers):
            raise DataError("event-invalid", f"{self.name} has not one record for each event")
        return _with(
            events,
            sequence_number=[int(_of(each, _SEQUENCE)) for each in headers],
            event_id=[UUID(_of(each, _EVENT_ID).decode()).bytes for each in headers],
            schema_id=[int(_of(each, _SCHEMA_ID)) for each in headers],
            context=[each[_CONTEXT].decode() if _CONTEXT in each else None for each in headers],
        )


def _without(message: Message) -> Message:
    kept = tuple(header for header in message.headers if not header[0].startswith(PREFIX))
    return Message(message.key, message.value, kept)


def _of(headers: dict[str, bytes], name: str) -> bytes:
    if name not in headers:
        raise DataError(
            "event-invalid", f"a record has no header {name}: Headwater did not write it"
        )
    return headers[name]


def _with(events: EventBatch, **columns: list[Any]) -> EventBatch:
    records = events.records
    for name, values in columns.items():
        place = EVENT_SCHEMA.get_field_index(name)
        field = EVENT_SCHEMA.field(place)
        records = records.set_column(place, field, pa.array(values, field.type))
    return EventBatch(records, events.closes_transaction)
