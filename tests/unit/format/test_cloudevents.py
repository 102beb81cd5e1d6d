"""CloudEvents: the SDK reads what we write, in both modes, and we read what others write."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cloudevents.core.bindings.kafka import KafkaMessage, from_kafka_event
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from headwater.contract import Message
from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction
from headwater.format.cloudevents.json import CloudEventsFormat
from headwater.format.headwater.json import JsonFormat

FORM = CloudEventsFormat()


def batch(**more: Any) -> EventBatch:
    fields: dict[str, Any] = {
        "op": Operation.INSERT,
        "source": Origin("postgres", "0/1:2", 1_700_000_000_123),
        "ts_ms": 1_700_000_000_456,
        "table": "my table",
        "schema": "public",
        "primary_key": ("id",),
        "after": {"id": 1, "big": 2**70},
        "transaction": Transaction(5, None, 0),
    }
    return EventBatch.from_events([Event(**{**fields, **more})])


def test_sdk_reads_the_record_when_it_is_structured() -> None:
    (record,) = FORM.encode(batch())
    found = JSONFormat().read(CloudEvent, record)
    assert found.get_type() == "io.headwater.change.insert"
    assert found.get_source() == "/postgres/public/my%20table"
    assert found.get_subject() == "public.my table"
    assert found.get_time() is not None
    assert found.get_extension("cdcop") == "insert"
    assert found.get_data() == json.loads(JsonFormat().encode(batch())[0])


def test_sdk_reads_the_message_when_it_is_binary() -> None:
    (message,) = FORM.messages(batch())
    assert message.key == b'{"id":1}'
    assert message.value is not None
    found = from_kafka_event(
        KafkaMessage(headers=dict(message.headers), key=message.key, value=message.value)
    )
    assert found.get_source() == "/postgres/public/my%20table"
    assert found.get_extension("cdctable") == "my table"
    assert found.get_data() == json.loads(JsonFormat().encode(batch())[0])


def test_id_is_the_events_and_the_same_on_replay() -> None:
    (one,), (again,) = FORM.encode(batch()), FORM.encode(batch(ts_ms=5))
    (other,) = FORM.encode(batch(source=Origin("postgres", "0/1:3", 1)))
    assert json.loads(one)["id"] == json.loads(again)["id"] != json.loads(other)["id"]


def test_binary_messages_read_back_when_written_by_us() -> None:
    events = batch()
    assert FORM.read_messages(FORM.messages(events)).equals(FORM.decode(FORM.encode(events)))
    structured = Message(
        None, FORM.encode(events)[0], (("content-type", b"application/cloudevents+json"),)
    )
    assert FORM.read_messages([structured]).equals(FORM.decode(FORM.encode(events)))


def test_control_characters_stand_in_the_data_only() -> None:
    (record,) = FORM.encode(batch(table="a\nb"))
    tree = json.loads(record)
    assert tree["cdctable"] == "a%0Ab"
    assert tree["data"]["table"] == "a\nb"


def test_time_is_left_out_when_iso_8601_has_no_year_for_it() -> None:
    (record,) = FORM.encode(batch(ts_ms=2**62))
    assert "time" not in json.loads(record)
    assert [e.ts_ms for e in FORM.decode([record])] == [2**62]


def test_event_of_another_producer_is_read_from_its_attributes() -> None:
    tree = {
        "specversion": "1.0", "type": "io.rustcdc.change.update", "source": "/pg/public/users",
        "id": "pg/0/1/5/0", "time": "2026-01-11T15:35:00.123Z", "subject": "public.users",
        "datacontenttype": "application/json", "cdcop": "update", "cdctable": "users",
        "cdcschema": "public", "cdcsource": "pg", "cdcoffset": "0/1",
        "data": {
            "before": {"id": 1}, "after": {"id": 1, "x": 1.50}, "primary_key": ["id"],
            "before_is_key_only": True, "envelope_version": 1,
        },
    }  # fmt: skip
    events = FORM.decode([json.dumps(tree).encode()])
    (found,) = events
    assert (found.op, found.table, found.schema) == (Operation.UPDATE, "users", "public")
    assert found.source.offset == "0/1"
    assert found.before_is_key_only
    assert json.loads(FORM.encode(events)[0]) == tree


@pytest.mark.parametrize(
    "tree",
    [{}, {"specversion": "0.3", "data": {}}, {"specversion": "1.0", "data": "text"},
     {"specversion": "1.0", "id": "1", "source": "/", "type": "t", "data": {"hello": 1}}],
)  # fmt: skip
def test_record_is_refused_when_it_is_no_change(tree: dict[str, Any]) -> None:
    with pytest.raises(DataError) as caught:
        FORM.decode([json.dumps(tree).encode()])
    assert (caught.value.code, caught.value.where) == ("format-bad-record", "record 0")
