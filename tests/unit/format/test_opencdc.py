"""OpenCDC: the specification's own record, Conduit's bytes, every metadata key, raw data."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction
from headwater.format._generated.opencdc_pb2 import Record
from headwater.format.opencdc import metadata
from headwater.format.opencdc.json import OpenCdcFormat
from headwater.format.opencdc.metadata import Labels, Subject
from headwater.format.opencdc.protobuf import OpenCdcProtobufFormat

JSON, PROTOBUF = OpenCdcFormat(), OpenCdcProtobufFormat()
SEED: dict[str, Any] = {
    "position": "c3RhbmRpbmc=",
    "operation": "update",
    "metadata": {
        "file.path": "./example.in",
        "opencdc.readAt": "1663858188836816000",
        "opencdc.version": "v1",
    },
    "key": "cGFkbG9jay1rZXk=",
    "payload": {
        "before": "eWVsbG93",
        "after": {
            "bool": True, "float32": 1.2, "float64": 1.2, "int": 1, "int32": 1, "int64": 1,
            "string": "orange",
        },
    },
}  # fmt: skip
# Conduit's record of the same names, as Conduit's own field numbers write it.
BYTES = bytes.fromhex(
    "0a087374616e64696e6710021a0a0a03666f6f1203626172220d0a0b7061646c6f636b2d6b65792a220a080a06"
    "79656c6c6f77121612140a120a06737472696e6712081a066f72616e6765"
)
STANDARD = [
    value
    for name, value in vars(metadata).items()
    if name.isupper() and isinstance(value, str) and not value.startswith(metadata.PREFIX)
]


def event(**more: Any) -> EventBatch:
    fields: dict[str, Any] = {
        "op": Operation.UPDATE,
        "source": Origin("postgres", "0/1:2", 1_663_858_188_836),
        "ts_ms": 1_663_858_188_999,
        "table": "employees",
        "schema": "hr",
        "primary_key": ("id",),
        "before": {"id": 1, "name": "a"},
        "after": {"name": "b", "id": 1},
        "transaction": Transaction(5, 2, 0),
        "schema_id": 7,
    }
    return EventBatch.from_events([Event(**{**fields, **more})])


def through(form: Any, tree: dict[str, Any]) -> dict[str, Any]:
    batch = JSON.decode([json.dumps(tree).encode()])
    carried = form.decode(form.encode(batch))
    again: dict[str, Any] = json.loads(JSON.encode(carried)[0])
    return again


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
def test_seeds_record_is_the_same_when_read_and_written(form: Any) -> None:
    assert through(form, SEED) == SEED


def test_seeds_record_becomes_an_event_when_read() -> None:
    (found,) = JSON.decode([json.dumps(SEED).encode()])
    assert found.op is Operation.UPDATE
    assert found.source.offset == "standing"
    assert found.ts_ms == 1_663_858_188_836
    assert found.before == {"opencdc.rawData": "eWVsbG93"}
    assert found.after is not None
    assert found.after["string"] == "orange"


def test_conduits_bytes_are_the_same_when_read_and_written() -> None:
    assert list(PROTOBUF.encode(PROTOBUF.decode([BYTES]))) == [BYTES]
    tree = json.loads(JSON.encode(PROTOBUF.decode([BYTES]))[0])
    assert tree == {
        "position": "c3RhbmRpbmc=",
        "operation": "update",
        "metadata": {"foo": "bar"},
        "key": "cGFkbG9jay1rZXk=",
        "payload": {"before": "eWVsbG93", "after": {"string": "orange"}},
    }


def test_record_has_conduits_members_in_order_when_written() -> None:
    tree = json.loads(JSON.encode(event())[0])
    assert list(tree) == ["position", "operation", "metadata", "key", "payload"]
    assert tree["key"] == {"id": 1}
    assert list(tree["payload"]["after"]) == ["name", "id"]
    assert tree["metadata"] == {
        "opencdc.version": "v1",
        "opencdc.createdAt": "1663858188836000000",
        "opencdc.readAt": "1663858188999000000",
        "opencdc.collection": "employees",
        "headwater.source": "postgres",
        "headwater.schema": "hr",
        "headwater.primary_key": '["id"]',
        "headwater.transaction": '{"tx_id":5,"total_events":2,"event_index":0}',
    }


@pytest.mark.parametrize("image", ["before", "after"])
def test_key_before_and_after_are_there_when_the_event_has_none(image: str) -> None:
    op = Operation.INSERT if image == "before" else Operation.DELETE
    tree = json.loads(JSON.encode(event(op=op, primary_key=None, **{image: None}))[0])
    assert tree["key"] is None
    assert tree["payload"][image] is None


@pytest.mark.parametrize("op", [Operation.TRUNCATE, Operation.SCHEMA_CHANGE])
def test_operation_is_zero_and_told_beside_when_opencdc_has_no_word(op: Operation) -> None:
    batch = event(op=op, before=None, after=None)
    tree = json.loads(JSON.encode(batch)[0])
    assert tree["operation"] == "Operation(0)"
    assert tree["metadata"]["headwater.op"] == op.label
    assert Record.FromString(PROTOBUF.encode(batch)[0]).operation == 0
    assert [e.op for e in PROTOBUF.decode(PROTOBUF.encode(batch))] == [op]


@pytest.mark.parametrize("word", ["Operation(0)", "Operation(6)", "", None, 1, "upsert"])
def test_record_is_refused_when_its_operation_says_nothing(word: Any) -> None:
    with pytest.raises(DataError, match="operation") as caught:
        JSON.decode([json.dumps(SEED | {"operation": word}).encode()])
    assert caught.value.code == "format-bad-record"


def test_empty_message_is_refused_because_it_has_no_operation() -> None:
    with pytest.raises(DataError, match="operation"):
        PROTOBUF.decode([bytes.fromhex("2a00")])


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
@pytest.mark.parametrize("key", STANDARD)
def test_metadata_key_is_kept_when_another_system_wrote_it(form: Any, key: str) -> None:
    told = "1663858188836816001" if key.endswith("At") else "5"
    tree = SEED | {"metadata": SEED["metadata"] | {key: told}}
    assert through(form, tree) == tree


def test_labels_stand_in_every_record_when_the_pipeline_knows_them() -> None:
    labels = Labels(
        constants={metadata.SOURCE_CONNECTOR_ID: "pipe:pg", metadata.SOURCE_PLUGIN_NAME: "hw"},
        key_subjects={7: Subject("employees.key", 2)},
        payload_subjects={7: Subject("employees.payload", 3)},
    )
    meta = json.loads(OpenCdcFormat(labels=labels).encode(event())[0])["metadata"]
    assert meta["conduit.source.connector.id"] == "pipe:pg"
    assert meta["opencdc.key.schema.subject"] == "employees.key"
    assert meta["opencdc.key.schema.version"] == "2"
    assert meta["opencdc.payload.schema.version"] == "3"
    other = json.loads(OpenCdcFormat(labels=labels).encode(event(schema_id=8))[0])["metadata"]
    assert not [name for name in other if ".schema." in name and name.startswith("opencdc")]


@pytest.mark.parametrize(
    ("row", "structured"),
    [
        ({"a": 2**53}, True),
        ({"a": 2**53 + 1}, False),
        ({"a": 2**70}, False),
        ({"a": 1.5, "b": [None, True, "x", {"c": 1}]}, True),
        ({"a": 1.0}, False),
        ({"z": 1, "a": 2}, True),
        ({"a": {"z": 1, "b": 2}}, False),
    ],
)
def test_row_is_raw_json_when_a_struct_would_bend_it(row: dict[str, Any], structured: bool) -> None:
    batch = event(op=Operation.INSERT, before=None, after=row, primary_key=None)
    message = Record.FromString(PROTOBUF.encode(batch)[0])
    kind = message.payload.after.WhichOneof("data")
    assert kind == ("structured_data" if structured else "raw_data")
    (found,) = PROTOBUF.decode(PROTOBUF.encode(batch))
    assert found.after is not None
    assert json.dumps(found.after) == json.dumps(row)
    assert found.extra is None


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
@pytest.mark.parametrize(
    "raw", [b"", b"\xff\x00", b'{"a": 1}', b'{"a":18446744073709551617}', b"[]"]
)
def test_raw_data_stays_raw_when_read_and_written(form: Any, raw: bytes) -> None:
    text = b64encode(raw).decode()
    tree = SEED | {"key": text, "payload": {"before": text, "after": text}}
    assert through(form, tree) == tree


@pytest.mark.parametrize("raw", [None, "", "AA==", "/w=="])
def test_position_stays_when_it_is_no_text(raw: str | None) -> None:
    tree = SEED | {"position": raw}
    assert through(JSON, tree) == through(PROTOBUF, tree) == tree


def test_time_is_exact_when_nanoseconds_do_not_fit_64_bits() -> None:
    batch = event(ts_ms=2**62)
    assert [e.ts_ms for e in JSON.decode(JSON.encode(batch))] == [2**62]


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": []},
        {"payload": "x"},
        {"position": 5},
        {"position": "not base64"},
        {"payload": {"after": [1]}},
        {"metadata": {"opencdc.createdAt": "soon"}},
        {"metadata": {"headwater.transaction": "{"}},
        {"metadata": {"headwater.snapshot": "[]"}},
        {"metadata": {"headwater.extra": "{}x"}},
        {"metadata": {"headwater.extra": '{"debezium":{"=":1}}'}},
    ],
)
def test_record_is_refused_when_a_member_is_of_another_kind(change: dict[str, Any]) -> None:
    with pytest.raises(DataError) as caught:
        JSON.decode([json.dumps(SEED).encode(), json.dumps(SEED | change).encode()])
    assert (caught.value.code, caught.value.where) == ("format-bad-record", "record 1")
