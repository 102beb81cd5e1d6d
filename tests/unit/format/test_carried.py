"""Headers that carry what an envelope does not say: through every format and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater import formats
from headwater.contract import Message
from headwater.errors import DataError
from headwater.event import EventBatch, Operation, TableSchema
from headwater.format.carried import CarriedFormat
from headwater.testing.builders import IDENTITY, ITEMS, inserts, source_batch
from headwater.testing.conformance.format import envelope
from headwater.testing.memory import MemoryLog
from tests.unit.format.typed_tables import batch, change

CARRIED = ("sequence_number", "event_id", "schema_id", "context")


@pytest.fixture
def log() -> MemoryLog:
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    writer.append(source_batch(inserts(1, 3, tx_id=1), 1))
    common: dict[str, Any] = {"table": "items", "schema": None, "schema_id": ITEMS.schema_id}
    changed = change({"id": 2, "name": "x"}, op=Operation.INSERT, context={"user": "eve"}, **common)
    deleted = change(op=Operation.DELETE, before={"id": 1, "name": "one"}, **common)
    writer.append(source_batch(batch(changed, deleted), 2))
    return log


@pytest.mark.parametrize("name", formats.names())
def test_events_come_back_with_their_place_id_shape_and_context(name: str, log: MemoryLog) -> None:
    stored = EventBatch.concat(list(log.reader().read(0)))
    form = formats.get(name, schemas=log.reader())
    messages = CarriedFormat(form, "log-1", log.reader()).messages(stored)
    found = CarriedFormat(form).read_messages(messages)
    assert envelope(found) == envelope(stored)
    for column in CARRIED:
        assert found.column(column).equals(stored.column(column))
    headers = [dict(message.headers) for message in messages]
    assert {each["headwater-log"] for each in headers} == {b"log-1"}
    (definition,) = [each["headwater-schema"] for each in headers if "headwater-schema" in each]
    assert TableSchema.from_dict(json.loads(definition)) == ITEMS
    if name == "debezium":  # the tombstone belongs to the delete before it
        assert messages[-1].value is None
        assert messages[-1].headers == messages[-2].headers


def test_record_without_headers_is_refused() -> None:
    form = formats.get("headwater-json")
    (record,) = form.encode(inserts(1, 1))
    with pytest.raises(DataError, match="no header headwater-sequence"):
        CarriedFormat(form).read_messages([Message(None, record)])
