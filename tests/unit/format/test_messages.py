"""Logical messages in every format: what each says, what old readers see, and what is refused."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import avro.io
import avro.schema
import fastavro
import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from headwater import formats
from headwater.contract import Message
from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction
from headwater.format.debezium.json import DebeziumFormat
from headwater.format.files.container import Container
from headwater.format.headwater.avro_schema import EVENT, EVENT_WITH_MESSAGES
from headwater.format.registry.subject import Strategy, Subjects
from headwater.format.typed.avro import TypedAvroFormat
from headwater.testing.conformance.format import envelope

SAID = {"prefix": "outbox", "content": "aGVsbG8="}
MESSAGE = Event(
    op=Operation.MESSAGE,
    source=Origin("postgres", "16/B374D848:1", 1_700_000_000_123),
    ts_ms=1_700_000_000_456,
    table="",
    after=SAID,
    transaction=Transaction(555, 3, 1),
)
INSERT = replace(
    MESSAGE, op=Operation.INSERT, table="orders", schema="public", primary_key=("id",),
    after={"id": 1}, transaction=Transaction(555, 3, 0),
)  # fmt: skip
BOTH = EventBatch.from_events([INSERT, MESSAGE])
# A message as Debezium's PostgreSQL connector writes it.
FOREIGN: dict[str, Any] = {
    "source": {
        "version": "3.2.0.Final", "connector": "postgresql", "name": "PostgreSQL_server",
        "ts_ms": 1559033904863, "ts_us": 1559033904863123, "ts_ns": 1559033904863123456,
        "snapshot": "false", "db": "postgres", "sequence": '["24023119","24023128"]',
        "schema": "", "table": "", "txId": 556, "lsn": 46523128, "xmin": None,
    },
    "op": "m",
    "ts_ms": 1559033904961, "ts_us": 1559033904961621, "ts_ns": 1559033904961621379,
    "transaction": {"id": "556:46523128", "total_order": 2, "data_collection_order": 1},
    "message": {"prefix": "foo", "content": "Ymfy"},
}  # fmt: skip


def written(name: str) -> list[Any]:
    return [json.loads(record) for record in formats.encode(BOTH, name)]


@pytest.mark.parametrize("name", [n for n in formats.names() if n != "cdc-format"])
def test_message_comes_back_beside_a_row(name: str) -> None:
    batch = BOTH if name != "headwater-avro-typed" else BOTH.slice(1)
    assert envelope(formats.decode(formats.encode(batch, name), name)) == envelope(batch)


def test_message_is_debeziums_m() -> None:
    row, message = written("debezium")
    assert "message" not in row
    assert message["op"] == "m"
    assert message["message"] == SAID
    assert (message["source"]["schema"], message["source"]["table"]) == ("", "")
    assert message["source"]["txId"] == 555
    assert message["transaction"]["total_order"] == 2
    assert not {"before", "after"} & message.keys()


def test_message_has_a_schema_in_debezium_when_asked() -> None:
    tree = written("debezium-schema")[1]
    fields = {field["field"]: field for field in tree["schema"]["fields"]}
    assert list(fields) == list(tree["payload"])
    assert [field["field"] for field in fields["message"]["fields"]] == ["content", "prefix"]
    assert tree["schema"]["name"] == "postgresql.message.Envelope"


def test_key_in_debezium_is_the_prefix() -> None:
    assert DebeziumFormat().keys(BOTH) == [b'{"id":1}', b'{"prefix":"outbox"}']
    key = json.loads(DebeziumFormat(schema=True).keys(BOTH)[1] or b"")
    assert key["payload"] == {"prefix": "outbox"}
    assert key["schema"]["name"] == "postgres.message.Key"
    assert len(DebeziumFormat().messages(BOTH)) == 2


@pytest.mark.parametrize("schema", [False, True])
def test_foreign_message_is_understood_and_written_as_it_was(schema: bool) -> None:
    form = DebeziumFormat(schema=schema)
    foreign = FOREIGN | {"message": FOREIGN["message"] | {"transactional": True}}
    tree = {"schema": {"type": "struct"}, "payload": foreign} if schema else foreign
    batch = form.decode([json.dumps(tree).encode()])
    (found,) = batch
    assert found.op is Operation.MESSAGE
    assert (found.schema, found.table, found.after) == (None, "", FOREIGN["message"])
    assert found.transaction == Transaction(556, None, 1)
    assert json.loads(form.encode(batch)[0]) == tree
    through = formats.decode(formats.encode(batch, "headwater-avro"), "headwater-avro")
    assert json.loads(form.encode(through)[0]) == tree


@pytest.mark.parametrize(
    "block",
    [
        None,  # some producers write watermarks as op m
        {"prefix": "foo"},
        {"prefix": "foo", "content": None},
        {"prefix": 1, "content": ""},
        {"prefix": "foo", "content": "0a0b0"},  # binary.handling.mode hex
    ],
)
def test_foreign_message_is_refused_when_it_says_nothing_that_we_can_read(block: Any) -> None:
    with pytest.raises(DataError, match="prefix") as caught:
        DebeziumFormat().decode([json.dumps(FOREIGN | {"message": block}).encode()])
    assert (caught.value.code, caught.value.where) == ("format-bad-record", "record 0")


def test_message_is_an_operation_that_opencdc_destinations_refuse() -> None:
    record = written("opencdc")[1]
    assert record["operation"] == "Operation(0)"
    assert record["metadata"]["headwater.op"] == "message"
    assert (record["key"], record["payload"]) == (None, {"before": None, "after": SAID})


def test_subject_in_cloudevents_is_the_prefix_and_never_empty() -> None:
    row, message = (JSONFormat().read(CloudEvent, r) for r in formats.encode(BOTH, "cloudevents"))
    assert row.get_subject() == "public.orders"
    assert message.get_subject() == "outbox"
    assert message.get_type() == "io.headwater.change.message"
    nameless = EventBatch.from_events([replace(MESSAGE, after=SAID | {"prefix": ""})])
    assert "subject" not in json.loads(formats.encode(nameless, "cloudevents")[0])


def test_message_is_refused_when_the_format_has_only_entities() -> None:
    with pytest.raises(DataError, match="no form for message") as caught:
        formats.encode(BOTH, "cdc-format")
    assert (caught.value.code, caught.value.where) == ("format-unwritable", "record 1")


@pytest.mark.parametrize(
    "event",
    [
        replace(MESSAGE, table="orders"), replace(MESSAGE, schema="public"),
        replace(MESSAGE, primary_key=("id",)), replace(MESSAGE, before={}),
        replace(MESSAGE, after=None), replace(MESSAGE, after=SAID | {"more": 1}),
        replace(MESSAGE, before_is_key_only=True), replace(MESSAGE, unavailable_columns=("a",)),
        replace(MESSAGE, after={"prefix": "a", "content": "no base64!"}),
    ],
)  # fmt: skip
def test_message_is_neither_written_nor_read_when_it_holds_what_none_may(event: Event) -> None:
    bad = EventBatch.from_events([MESSAGE, event])
    for name in formats.names():
        if name == "cdc-format":
            continue
        with pytest.raises(DataError, match="message") as caught:
            formats.encode(bad, name)
        assert (caught.value.code, caught.value.where) == ("format-unwritable", "record 1")
    with pytest.raises(DataError, match="message"):
        DebeziumFormat().messages(bad)
    tree = json.loads(formats.encode(BOTH, "headwater-json")[1])
    tree |= {"table": event.table, "schema": event.schema, "before": event.before}
    tree |= {"after": event.after, "primary_key": event.primary_key and list(event.primary_key)}
    tree |= {"before_is_key_only": event.before_is_key_only}
    tree |= {"unavailable_columns": list(event.unavailable_columns)}
    with pytest.raises(DataError, match="a message"):
        formats.decode([json.dumps(tree).encode()], "headwater-json")


def test_avro_reader_of_six_operations_reads_all_but_messages() -> None:
    """By the reference library's resolution: the writer's schema knows seven, the reader's six."""
    writer = avro.schema.make_avsc_object(EVENT_WITH_MESSAGES)
    reader = avro.schema.make_avsc_object(EVENT)
    for schemas in ((writer, reader), (reader, reader), (writer, writer)):
        decoder = avro.io.BinaryDecoder(io.BytesIO(formats.encode(BOTH, "headwater-avro")[0]))
        datum = avro.io.DatumReader(*schemas).read(decoder)
        assert isinstance(datum, dict)
        assert (datum["op"], datum["table"]) == ("INSERT", "orders")
    decoder = avro.io.BinaryDecoder(io.BytesIO(formats.encode(BOTH, "headwater-avro")[1]))
    with pytest.raises(avro.errors.AvroException, match="MESSAGE"):
        avro.io.DatumReader(writer, reader).read(decoder)


def test_container_file_holds_messages_and_is_read_by_a_reader_of_six_operations() -> None:
    file = io.BytesIO()
    writing = Container().write(file)
    writing.put(writing.format.encode(BOTH))
    file.seek(0)
    reading = Container().read(file, 1 << 20)
    found = reading.format.decode(piece.data for piece in reading.pieces)
    assert envelope(found) == envelope(BOTH)
    file.seek(0)
    old = iter(fastavro.reader(file, reader_schema=EVENT))
    assert next(old)["op"] == "INSERT"
    with pytest.raises(fastavro.read.SchemaResolutionError):
        next(old)


def test_typed_message_needs_no_table() -> None:
    message = BOTH.slice(1)
    (record,) = TypedAvroFormat().encode(message)
    assert record[:8] == bytes(8)
    assert envelope(TypedAvroFormat().decode([record])) == envelope(message)
    assert TypedAvroFormat().messages(message) == [Message(None, record)]


def test_topic_has_a_name_when_there_is_no_table() -> None:
    subjects = Subjects("{source}.{schema}.{table}")
    assert subjects.topics(BOTH) == ["postgres.public.orders", "postgres.message"]
    assert subjects.apart
    assert not Subjects("shop").apart
    assert not Subjects(strategy=Strategy.RECORD_NAME).apart
