"""Logical messages behind a real schema registry: the schemas of rows stay what they are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headwater import formats
from headwater.errors import ConfigError
from headwater.event import Event, EventBatch, Operation, Origin
from headwater.format.registry.client import SchemaRegistry
from headwater.format.registry.described import described
from headwater.testing.builders import inserts
from headwater.testing.conformance.format import envelope
from tests.integration.format.registered import ask, registered
from tests.unit.format.typed_tables import ROW, History, batch, change

MESSAGES = EventBatch.from_events(
    [
        Event(
            op=Operation.MESSAGE,
            source=Origin("postgres", "0/1:0", 1),
            ts_ms=1,
            table="",
            after={"prefix": "outbox", "content": "aGk="},
        )
    ]
)


@pytest.mark.parametrize("name", ["headwater-avro", "headwater-json"])
def test_rows_keep_their_schema_when_messages_come(
    name: str, schema_registry: str, topic: str
) -> None:
    """The symbol of messages is a schema of its own, whichever comes first."""
    rows, form = inserts(1, 2), registered(name, schema_registry, topic)
    message = form.encode(MESSAGES)
    ask(f"{schema_registry}/config/{topic}-value", {"compatibility": "BACKWARD"}, "PUT")
    records = [*form.encode(rows), *message]
    assert len({record[:5] for record in records}) == 2
    assert ask(f"{schema_registry}/subjects/{topic}-value/versions") == [1, 2]
    reader = registered(name, schema_registry, "unused")
    assert envelope(reader.decode(records)) == envelope(EventBatch.concat([rows, MESSAGES]))


@pytest.mark.parametrize("rule", ["FORWARD", "FULL"])
def test_only_messages_are_refused_when_a_subject_also_guards_older_readers(
    rule: str, schema_registry: str, topic: str
) -> None:
    form = registered("headwater-avro", schema_registry, topic)
    rows = form.encode(inserts(1, 1))
    ask(f"{schema_registry}/config/{topic}-value", {"compatibility": rule}, "PUT")
    again = registered("headwater-avro", schema_registry, topic)
    assert again.encode(inserts(1, 1)) == rows
    with pytest.raises(ConfigError) as caught:
        again.encode(MESSAGES)
    assert caught.value.code == "registry-incompatible"
    apart = registered("headwater-avro", schema_registry, f"{topic}.{{table}}")
    apart.encode(MESSAGES)
    assert ask(f"{schema_registry}/subjects/{topic}.message-value/versions") == [1]


def test_protobuf_definition_may_grow_by_messages_under_any_rule(
    schema_registry: str, topic: str
) -> None:
    (now,) = set(described(formats.get("headwater-protobuf")).schemas(MESSAGES))
    lines = now.text.splitlines()
    old = "\n".join(line for line in lines if "MESSAGE = 7" not in line)
    assert len(old.splitlines()) == len(lines) - 1
    SchemaRegistry(schema_registry).id_of(f"{topic}-value", replace(now, text=old))
    ask(f"{schema_registry}/config/{topic}-value", {"compatibility": "FULL"}, "PUT")
    form = registered("headwater-protobuf", schema_registry, topic)
    assert envelope(form.decode(form.encode(MESSAGES))) == envelope(MESSAGES)
    assert ask(f"{schema_registry}/subjects/{topic}-value/versions") == [1, 2]


def test_typed_message_has_the_schema_of_no_table(schema_registry: str, topic: str) -> None:
    writer = registered(
        "headwater-avro-typed", schema_registry, f"{topic}.{{table}}", schemas=History()
    )
    events = batch(change(ROW), *MESSAGES, change(ROW))
    reader = registered("headwater-avro-typed", schema_registry, "unused")
    assert envelope(reader.read_messages(writer.messages(events))) == envelope(events)
    assert ask(f"{schema_registry}/subjects/{topic}.orders-value/versions") == [1]
