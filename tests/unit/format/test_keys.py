"""The envelope's key in its three forms, and messages that have it beside them."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import avro.io
import avro.schema
import pytest

from headwater.contract import MessageFormat
from headwater.event import EventBatch, Operation
from headwater.format._generated.event_key_pb2 import EventKey
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.avro_schema import EVENT
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.key import EVENT_KEY, avro_keys, json_keys, protobuf_keys
from headwater.format.headwater.protobuf import ProtobufFormat
from headwater.format.jsontext import dumps
from tests.unit.format.samples import READ, UPDATE, batch
from tests.unit.format.test_debezium import event


def official(schema: dict[str, Any], data: bytes) -> Any:
    reader = avro.io.DatumReader(avro.schema.parse(dumps(schema)))
    return reader.read(avro.io.BinaryDecoder(BytesIO(data)))


def test_key_has_its_names_in_order_when_the_table_has_several() -> None:
    rows = event(primary_key=("z", "a"), after={"a": "x", "z": 2**65, "b": 1})
    assert json_keys(rows) == [b'{"a":"x","z":36893488147419103232}']


def test_key_is_of_the_row_before_when_it_was_deleted() -> None:
    assert json_keys(event(Operation.DELETE)) == [b'{"id":1}']


@pytest.mark.parametrize("more", [{"primary_key": None}, {"after": {"x": 1}}])
def test_key_is_none_when_a_column_of_it_is_not_known(more: dict[str, Any]) -> None:
    rows = event(**more)
    assert json_keys(rows) == protobuf_keys(rows) == avro_keys(rows) == [None]


def test_key_is_the_same_json_when_it_is_binary() -> None:
    (text,), (message,), (datum,) = (f(event()) for f in (json_keys, protobuf_keys, avro_keys))
    assert text is not None and message is not None and datum is not None  # noqa: PT018
    assert EventKey.FromString(message).key == text.decode()
    assert official(EVENT_KEY, datum) == {"key": text.decode()}


@pytest.mark.parametrize("form", [JsonFormat(), AvroFormat(), ProtobufFormat()])
def test_messages_read_back_when_they_have_keys(form: MessageFormat) -> None:
    events = EventBatch.concat([batch(UPDATE), batch(READ)])
    assert form.read_messages(form.messages(events)).equals(form.decode(form.encode(events)))


def test_official_avro_reads_the_datum_as_we_wrote_it() -> None:
    (datum,) = AvroFormat().encode(batch(UPDATE))
    found = official(EVENT, datum)
    assert found["table"] == "users"
    assert found["op"] == "UPDATE"
    assert found["primary_key"] == ["id", "org"]
