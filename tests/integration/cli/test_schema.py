"""`headwater schema`: what a log knows of tables, and definitions that other tools take in."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import jsonschema
import pytest

from headwater import formats
from headwater.contract import SourceBatch
from headwater.event import (
    Column,
    Event,
    EventBatch,
    ForeignKey,
    Kind,
    LogicalType,
    Operation,
    Origin,
    Position,
    TableId,
    TableSchema,
)
from headwater.format._generated import event_key_pb2, event_pb2, opencdc_pb2
from headwater.log import SqliteLog
from headwater.testing.builders import IDENTITY, ITEMS, inserts
from tests.integration.cli.conftest import Cli

WIDER = replace(ITEMS, columns=(*ITEMS.columns, Column("price", LogicalType(Kind.DECIMAL, 10, 2))))
LINES = TableSchema(
    table=TableId("sales", "lines"),
    columns=(
        Column("order", LogicalType(Kind.INT64), nullable=False, declared="bigint"),
        Column("no", LogicalType(Kind.INT32), nullable=False, declared="int"),
        Column("sum", LogicalType(Kind.DECIMAL), declared="numeric", generated=True),
    ),
    primary_key=("order", "no"),
    foreign_keys=(ForeignKey(("order",), TableId("sales", "orders"), ("id",), "CASCADE"),),
)


@pytest.fixture
def log(cli: Cli) -> Path:
    path = cli.directory / "shop.hwlog"
    writer = SqliteLog.create(path).writer(IDENTITY)
    for number, schemas in enumerate([(ITEMS, LINES), (WIDER,)], start=1):
        position = Position({"change": number})
        writer.append(SourceBatch(inserts(number, 1), position, schemas=schemas))
    writer.close()
    return path


def test_show_lists_the_newest_shapes_when_no_table_is_named(cli: Cli, log: Path) -> None:
    done = cli("schema", "show", log.name)
    assert done.code == 0
    assert "items  version 2 of 2, since event 2" in done.out
    assert "price   decimal(10,2)" in done.out
    assert "sales.lines  version 1 of 1, since event 1" in done.out
    assert [line.split() for line in done.out.splitlines() if line.startswith("no ")] == [
        ["no", "int32", "int", "no", "key", "2"]
    ]
    assert "generated" in done.out
    assert "(order) refers to sales.orders (id), on delete cascade" in done.out


@pytest.mark.parametrize("glob", ["items", "IT*", "i?ems"])
def test_show_gives_an_older_shape_when_asked_for_its_version(
    cli: Cli, log: Path, glob: str
) -> None:
    result = cli("schema", "show", log.name, glob, "--at", "1", "--json").json()["result"]
    (table,) = result["tables"]
    assert (table["name"], table["version"], table["versions"]) == ("items", 1, 2)
    assert TableSchema.from_dict(table) == ITEMS
    assert table["schema_id"] == ITEMS.schema_id


def test_show_says_what_there_is_when_the_table_or_version_is_unknown(cli: Cli, log: Path) -> None:
    table = cli("schema", "show", log.name, "nothing")
    assert table.code == 2
    assert "table-unknown" in table.err
    version = cli("schema", "show", log.name, "--at", "3")
    assert version.code == 2
    assert "schema-version-unknown" in version.err
    assert "the newest is 2" in version.err
    assert cli("schema", "show", "gone.hwlog").code == 3


@pytest.mark.parametrize("name", ["headwater-json", "cdc-format"])
def test_json_schema_accepts_what_the_format_writes_when_printed(cli: Cli, name: str) -> None:
    schema = json.loads(cli("schema", "json-schema", name).out)
    validator = jsonschema.validators.validator_for(schema)(schema)
    for record in formats.encode(inserts(1, 3, tx_id=1), name):
        validator.validate(json.loads(record))
        assert not validator.is_valid(json.loads(record) | {"op": 1, "operation": 1})


@pytest.mark.parametrize(
    ("words", "module"),
    [((), event_pb2), (("--key",), event_key_pb2), (("opencdc-protobuf",), opencdc_pb2)],
)
def test_proto_names_every_field_of_the_messages_when_printed(
    cli: Cli, words: tuple[str, ...], module: Any
) -> None:
    text = cli("schema", "proto", *words).out
    messages = module.DESCRIPTOR.message_types_by_name
    assert re.findall(r"^message (\w+)", text, re.MULTILINE) == list(messages)
    for message in messages.values():
        for field in message.fields:
            assert re.search(rf"\b{field.name} = {field.number}\b", text)


def test_avsc_reads_what_the_format_writes_when_printed(cli: Cli) -> None:
    schema = json.loads(cli("schema", "avsc").out)
    (record,) = formats.encode(inserts(1, 1), "headwater-avro")
    datum = fastavro.schemaless_reader(BytesIO(record), schema)
    assert datum["table"] == "items"
    key = json.loads(cli("schema", "avsc", "--key").out)
    assert key["name"] == "EventKey"


def test_definitions_of_messages_describe_a_message_too(cli: Cli) -> None:
    origin = Origin("postgres", "0/1:0", 1)
    said = {"prefix": "outbox", "content": "aGk="}
    message = EventBatch.from_events([Event(Operation.MESSAGE, origin, 1, "", after=said)])
    avro = json.loads(cli("schema", "avsc", "--messages").out)
    for events, op in ((message, "MESSAGE"), (inserts(1, 1), "INSERT")):
        (record,) = formats.encode(events, "headwater-avro")
        assert fastavro.schemaless_reader(BytesIO(record), avro)["op"] == op
    (record,) = formats.encode(message, "headwater-json")
    for words, valid in (((), False), (("--messages",), True)):
        schema = json.loads(cli("schema", "json-schema", *words).out)
        assert jsonschema.Draft7Validator(schema).is_valid(json.loads(record)) == valid


def test_avsc_is_that_of_the_table_when_one_is_named(cli: Cli, log: Path) -> None:
    words = ("schema", "avsc", "--log", log.name, "--table")
    event = json.loads(cli(*words, "items").out)
    before = event["fields"][0]["type"][1]
    assert [field["name"] for field in before["fields"]] == ["id", "name", "price"]
    older = json.loads(cli(*words, "items", "--at", "1").out)
    assert fastavro.parse_schema(older)["name"].endswith("items.Event")
    key = json.loads(cli(*words, "sales.lines", "--key").out)
    assert [field["name"] for field in key["fields"]] == ["order", "no"]


def test_definition_is_refused_when_there_is_none(cli: Cli, log: Path) -> None:
    for words, code in (
        (("json-schema", "debezium"), "schema-not-published"),
        (("json-schema", "nothing"), "format-unknown"),
        (("proto", "headwater-json"), "schema-not-published"),
        (("avsc", "--log", log.name, "--table", "*"), "table-ambiguous"),
        (("json-schema", "cdc-format", "--messages"), "schema-not-published"),
        (("avsc", "--table", "items"), "usage"),
        (("avsc", "--key", "--messages"), "usage"),
    ):
        done = cli("schema", *words)
        assert done.code == 2
        assert code in done.err
