"""Registered formats against a real schema registry."""

from __future__ import annotations

import io
import json
import socket
from typing import Any

import fastavro
import pytest

from headwater import formats
from headwater.errors import ConfigError, DataError, HeadwaterError, TransientError
from headwater.event import EventBatch
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.avro_schema import EVENT_12
from headwater.format.registry.client import SchemaRegistry
from headwater.format.registry.described import described
from headwater.format.registry.frame import head
from headwater.format.registry.schema import Language, Schema
from headwater.secret import Secret
from headwater.testing.builders import inserts
from headwater.testing.conformance.format import envelope
from tests.fix_registry import PASSWORD, USER, Door
from tests.integration.format.registered import ask, registered
from tests.unit.format.typed_tables import ORDERS, ROW, History, batch, change, table

DESCRIBED = (
    *("headwater-json", "headwater-avro", "headwater-protobuf"),
    *("opencdc-protobuf", "cdc-format"),
)
A = Schema(Language.AVRO, '{"type":"record","name":"A","fields":[{"name":"x","type":"long"}]}')


@pytest.mark.parametrize("name", DESCRIBED)
def test_events_come_back_when_another_client_reads_them(
    name: str, schema_registry: str, topic: str
) -> None:
    events = inserts(1, 5, tx_id=3)
    records = registered(name, schema_registry, topic).encode(events)
    reader = registered(name, schema_registry, "unused")  # knows nothing but the registry's URL
    assert envelope(reader.decode(records)) == envelope(events)
    number = int.from_bytes(records[0][1:5], "big")
    assert records[0][0] == 0
    kept = ask(f"{schema_registry}/subjects/{topic}-value/versions/latest")
    assert kept["id"] == number


@pytest.mark.parametrize("name", DESCRIBED)
def test_keys_have_schemas_of_their_own(name: str, schema_registry: str, topic: str) -> None:
    form = registered(name, schema_registry, topic)
    events = inserts(1, 3)
    messages = form.messages(events)
    assert envelope(form.read_messages(messages)) == envelope(events)
    kept = ask(f"{schema_registry}/subjects/{topic}-key/versions/latest")
    assert all((message.key or b"")[:5] == head(kept["id"]) for message in messages)


def test_protobuf_path_leads_to_the_event_when_it_is_not_the_first_message(
    schema_registry: str, topic: str
) -> None:
    (record,) = registered("headwater-protobuf", schema_registry, topic).encode(inserts(1, 1))
    assert record[5:7] == b"\x02\x06"  # one index, which is 3
    (record,) = registered("opencdc-protobuf", schema_registry, f"{topic}o").encode(inserts(1, 1))
    assert record[5:6] == b"\x00"  # the first message


def test_protobuf_record_is_refused_when_it_is_another_message(
    schema_registry: str, topic: str
) -> None:
    form = registered("headwater-protobuf", schema_registry, topic)
    good = form.encode(inserts(1, 1))[0]
    with pytest.raises(DataError, match=r"rustcdc\.SourceMetadata, not rustcdc\.Event") as caught:
        form.decode([good, good[:5] + b"\x00" + good[7:]])
    assert caught.value.where == "record 1"


def test_typed_rows_need_nothing_but_the_registry_when_they_are_read(
    schema_registry: str, topic: str
) -> None:
    people = table(("id", "int64"), ("ful name", "string"), name="people")
    history = History((ORDERS, people))
    pattern = f"{topic}.{{table}}"
    writer = registered("headwater-avro-typed", schema_registry, pattern, schemas=history)
    events = batch(
        change(ROW), change({"id": 1, "ful name": "Ada"}, table="people"), change(ROW),
        change({"id": 2}, unavailable_columns=("name",)),
    )  # fmt: skip
    messages = writer.messages(events)
    reader = registered("headwater-avro-typed", schema_registry, "unused")
    assert envelope(reader.read_messages(messages)) == envelope(events)
    for name, part in (("orders", "key"), ("people", "value")):
        assert ask(f"{schema_registry}/subjects/{topic}.{name}-{part}/versions") == [1]


def test_typed_rows_are_plain_avro_when_a_stranger_reads_them(
    schema_registry: str, topic: str
) -> None:
    form = registered("headwater-avro-typed", schema_registry, topic, schemas=History())
    (record,) = form.encode(batch(change(ROW)))
    number = int.from_bytes(record[1:5], "big")
    text = ask(f"{schema_registry}/schemas/ids/{number}")["schema"]
    schema = fastavro.parse_schema(json.loads(text))
    datum: Any = fastavro.schemaless_reader(io.BytesIO(record[5:]), schema, None)
    assert str(datum["after"]["price"]) == ROW["price"]


def test_schema_evolves_when_a_nullable_column_is_added_and_is_refused_when_a_required_one_is(
    schema_registry: str, topic: str
) -> None:
    columns = (("id", "int64"), ("name", "string"))
    old, new = table(*columns), table(*columns, ("note", "string"))
    broken = table(*columns, ("amount", "decimal(10,2)"), required=("id", "amount"))
    rows = {"id": 1, "name": "Ada"}
    form = registered(
        "headwater-avro-typed", schema_registry, topic, schemas=History((old, new, broken))
    )
    first = form.encode(batch(change(rows, schema_id=old.schema_id)))
    url = f"{schema_registry}/config/{topic}-value"
    ask(url, {"compatibility": "BACKWARD"}, "PUT")
    later = batch(change({**rows, "note": "x"}, schema_id=new.schema_id))
    second = form.encode(later)
    assert len({record[:5] for record in (*first, *second)}) == 2
    assert [event.after for event in form.decode([*second, *first])] == [
        {**rows, "note": "x"},
        rows,
    ]
    with pytest.raises(ConfigError) as caught:
        form.encode(batch(change({**rows, "amount": "1.50"}, schema_id=broken.schema_id)))
    assert caught.value.code == "registry-incompatible"
    assert "/fields/0/type" in caught.value.message  # the reason is the registry's own
    assert caught.value.where == f"subject {topic}-value"
    assert "nullable" in caught.value.hint


def test_check_tells_incompatible_schemas_when_the_subject_has_a_rule(
    schema_registry: str, topic: str
) -> None:
    registry = SchemaRegistry(schema_registry)
    other = Schema(Language.AVRO, A.text.replace("long", "string"))
    registry.check(topic, A)  # a subject that is not there forbids nothing
    registry.id_of(topic, A)
    ask(f"{schema_registry}/config/{topic}", {"compatibility": "BACKWARD"}, "PUT")
    registry.check(topic, A)
    with pytest.raises(ConfigError) as caught:
        registry.check(topic, other)
    assert caught.value.code == "registry-incompatible"


def test_avro_is_read_by_the_schema_that_wrote_it_when_a_producer_knows_an_older_one(
    schema_registry: str, topic: str
) -> None:
    registry = SchemaRegistry(schema_registry)
    old = Schema(Language.AVRO, json.dumps(EVENT_12), "io.rustcdc.Event")
    number = registry.id_of(f"{topic}-value", old)
    events = inserts(1, 2)
    records = [head(number) + r for r in AvroFormat(writer_schema=EVENT_12).encode(events)]
    form = registered("headwater-avro", schema_registry, topic)
    new = form.encode(events)
    read = form.decode([records[0], new[0], records[1]])
    both = EventBatch.concat([events.slice(0, 1), events.slice(0, 1), events.slice(1, 1)])
    assert envelope(read) == envelope(both)


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("topic-name", "{topic}-value"),
        ("record-name", "io.rustcdc.Event"),
        ("topic-record-name", "{topic}-io.rustcdc.Event"),
    ],
)
def test_subject_follows_its_strategy(
    strategy: str, subject: str, schema_registry: str, topic: str
) -> None:
    formats.get(
        "headwater-avro",
        registry=SchemaRegistry(schema_registry),
        subjects=formats.Subjects(topic, formats.Strategy(strategy)),
    ).encode(inserts(1, 1))
    assert subject.format(topic=topic) in ask(f"{schema_registry}/subjects")


def test_schema_is_only_looked_up_when_registering_is_switched_off(
    schema_registry: str, topic: str
) -> None:
    reader = SchemaRegistry(schema_registry, register=False)
    with pytest.raises(ConfigError) as caught:
        reader.id_of(topic, A)
    assert caught.value.code == "registry-not-registered"
    number = SchemaRegistry(schema_registry).id_of(topic, A)
    assert reader.id_of(topic, A) == number


def test_record_is_refused_by_number_when_its_frame_or_schema_is_wrong(
    schema_registry: str, topic: str
) -> None:
    form = registered("headwater-avro", schema_registry, topic)
    good = form.encode(inserts(1, 1))[0]
    other = SchemaRegistry(schema_registry).id_of(topic, A)
    for bad, code in (
        (b"", "format-bad-record"),
        (b"\x01" + good[1:], "format-bad-record"),
        (good[:-1], "format-bad-record"),
        (head(other) + good[5:], "format-bad-record"),
        (head(2**31 - 1) + good[5:], "registry-unknown-id"),
        (registered("headwater-json", schema_registry, f"{topic}j").encode(inserts(1, 1))[0],
         "format-bad-record"),
    ):  # fmt: skip
        with pytest.raises(DataError) as caught:
            form.decode([good, bad])
        assert (caught.value.where, caught.value.code) == ("record 1", code)
    assert "is JSON, not AVRO" in caught.value.message  # of the last


def test_registry_is_asked_once_for_each_schema(guarded_registry: Door, topic: str) -> None:
    registry = SchemaRegistry(guarded_registry.url, user=USER, password=Secret(PASSWORD))
    form = formats.get("headwater-avro", registry=registry, subjects=formats.Subjects(topic))
    for first in (1, 2, 3):
        assert len(form.decode(form.encode(inserts(first, 4)))) == 4
    assert guarded_registry.asked == 1


@pytest.mark.parametrize("password", [None, "wrong-pw-93T"])
def test_denial_is_told_without_the_password(
    password: str | None, guarded_registry: Door, topic: str
) -> None:
    registry = SchemaRegistry(guarded_registry.url, user=USER, password=password)
    with pytest.raises(ConfigError) as caught:
        registry.id_of(topic, A)
    assert caught.value.code == "registry-denied"
    assert "wrong-pw-93T" not in str(caught.value) + repr(registry)


@pytest.mark.parametrize(
    ("status", "says", "code", "kind"),
    [
        (503, '{"message": "busy, {authorization}"}', "registry-unreachable", TransientError),
        (422, '{"message": "odd, {authorization}"}', "registry-refused", ConfigError),
        (302, "", "registry-refused", ConfigError),
        (200, "<html>", "registry-reply", ConfigError),
        (200, '{"ok": true}', "registry-reply", ConfigError),
        (200, '{"id": "7"}', "registry-reply", ConfigError),
    ],
)
def test_answer_says_what_to_do_when_it_is_no_schema(
    status: int, says: str, code: str, kind: type[HeadwaterError], guarded_registry: Door
) -> None:
    guarded_registry.status, guarded_registry.says = status, says
    registry = SchemaRegistry(guarded_registry.url, user=USER, password=PASSWORD)
    with pytest.raises(kind) as caught:
        registry.id_of("any", A)
    assert caught.value.code == code
    token = "cHJvZHVjZXI6"  # the beginning of producer: in base64
    assert PASSWORD not in str(caught.value)
    assert token not in str(caught.value)


def test_time_limit_ends_the_wait_when_the_registry_is_slow(guarded_registry: Door) -> None:
    guarded_registry.delay_s = 0.6
    with pytest.raises(TransientError) as caught:
        SchemaRegistry(guarded_registry.url, timeout_s=0.1).id_of("any", A)
    assert caught.value.code == "registry-unreachable"


def test_registry_is_unreachable_when_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and never listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TransientError) as caught:
            SchemaRegistry(url).schema(1)
    assert caught.value.code == "registry-unreachable"


def test_format_without_a_schema_is_refused_by_name(schema_registry: str) -> None:
    with pytest.raises(ConfigError) as caught:
        described(formats.get("debezium"))
    assert caught.value.code == "format-not-described"
    assert "debezium" in caught.value.message
    assert schema_registry
