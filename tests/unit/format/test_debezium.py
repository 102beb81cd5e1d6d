"""Debezium: operations, source blocks, placeholders, schemas, keys and tombstones."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headwater.contract import Message
from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction
from headwater.format.debezium.image import PLACEHOLDER
from headwater.format.debezium.json import DebeziumFormat

PLAIN, SCHEMA = DebeziumFormat(), DebeziumFormat(schema=True)
# A PostgreSQL connector's event, as its documentation shows it.
FOREIGN: dict[str, Any] = {
    "before": None,
    "after": {"id": 1, "first_name": "Anne", "bio": PLACEHOLDER},
    "source": {
        "version": "3.2.0.Final", "connector": "postgresql", "name": "PostgreSQL_server",
        "ts_ms": 1559033904863, "ts_us": 1559033904863123, "ts_ns": 1559033904863123456,
        "snapshot": "last", "db": "postgres", "sequence": '["24023119","24023128"]',
        "schema": "public", "table": "customers", "txId": 555, "lsn": 24023128, "xmin": None,
    },
    "op": "u",
    "ts_ms": 1559033904864, "ts_us": 1559033904864001, "ts_ns": 1559033904864001002,
    "transaction": {"id": "555:24023128", "total_order": 1, "data_collection_order": 1},
}  # fmt: skip


def event(op: Operation = Operation.INSERT, **more: Any) -> EventBatch:
    fields: dict[str, Any] = {
        "source": Origin("postgres", "16/B374D848:12", 1_700_000_000_123),
        "ts_ms": 1_700_000_000_456,
        "table": "customers",
        "schema": "public",
        "primary_key": ("id",),
        "before": {"id": 1} if op in (Operation.UPDATE, Operation.DELETE) else None,
        "after": {"id": 1} if op in (Operation.INSERT, Operation.UPDATE, Operation.READ) else None,
        "transaction": Transaction(555, 3, 1),
    }
    return EventBatch.from_events([Event(op=op, **{**fields, **more})])


def written(op: Operation = Operation.INSERT, **more: Any) -> dict[str, Any]:
    tree: dict[str, Any] = json.loads(PLAIN.encode(event(op, **more))[0])
    return tree


@pytest.mark.parametrize(
    ("op", "letter"),
    [
        (Operation.INSERT, "c"), (Operation.UPDATE, "u"), (Operation.DELETE, "d"),
        (Operation.READ, "r"), (Operation.TRUNCATE, "t"),
    ],
)  # fmt: skip
def test_operation_is_debeziums_letter(op: Operation, letter: str) -> None:
    assert written(op)["op"] == letter
    assert [e.op for e in PLAIN.decode(PLAIN.encode(event(op)))] == [op]


def test_schema_change_is_debeziums_schema_change_record() -> None:
    after = {"ddl_type": "ALTER_TABLE", "statement": "ALTER TABLE t ADD x int"}
    tree = written(Operation.SCHEMA_CHANGE, after=after)
    assert tree["ddl"] == after["statement"]
    assert "op" not in tree
    foreign = {"source": FOREIGN["source"], "ts_ms": 5, "ddl": "DROP TABLE t", "tableChanges": [1]}
    batch = PLAIN.decode([json.dumps(foreign).encode()])
    assert [(e.op, e.after) for e in batch] == [
        (Operation.SCHEMA_CHANGE, {"statement": "DROP TABLE t"})
    ]
    assert json.loads(PLAIN.encode(batch)[0]) == foreign


def test_source_has_what_every_connector_says() -> None:
    source = written()["source"]
    assert source["connector"] == source["name"] == "postgresql"
    assert (source["schema"], source["table"], source["snapshot"]) == (
        "public", "customers", "false",
    )  # fmt: skip
    assert source["ts_ms"] == 1_700_000_000_123
    assert source["ts_ns"] == 1_700_000_000_123_000_000
    assert written(Operation.READ)["source"]["snapshot"] == "true"


@pytest.mark.parametrize(
    ("name", "offset", "members"),
    [
        ("postgres", "16/B374D848:12", {"txId": 555, "lsn": 0x16B374D848, "xmin": None}),
        ("mysql", "bin.000003:154#gtid=abc:7", {"file": "bin.000003", "pos": 154, "gtid": "abc:7"}),
        ("mariadb", "bin.000003:154", {"file": "bin.000003", "pos": 154, "gtid": None}),
        ("sqlserver", "0x00ab:0x00cd:4", {"commit_lsn": "0x00ab", "change_lsn": "0x00cd"}),
        ("sqlserver", "0x00ab", {"commit_lsn": "0x00ab", "change_lsn": None}),
        ("postgres", "another", {"lsn": None}),
    ],
)
def test_source_has_what_its_connector_says(
    name: str, offset: str, members: dict[str, Any]
) -> None:
    source = written(source=Origin(name, offset, 5))["source"]
    assert members.items() <= source.items()
    assert json.loads(source["sequence"]) == [offset]


def test_transaction_has_its_id_and_order() -> None:
    assert written()["transaction"] == {
        "id": "555", "total_order": 2, "data_collection_order": None,
    }  # fmt: skip
    assert written(transaction=None)["transaction"] is None


def test_value_that_was_not_sent_is_the_placeholder() -> None:
    tree = written(Operation.UPDATE, unavailable_columns=("bio",))
    assert tree["after"] == {"id": 1, "bio": PLACEHOLDER}
    (found,) = PLAIN.decode([json.dumps(FOREIGN).encode()])
    assert found.unavailable_columns == ("bio",)
    assert found.after == {"id": 1, "first_name": "Anne"}


def test_value_that_is_the_placeholders_text_stays_a_value() -> None:
    batch = event(after={"id": 1, "a": PLACEHOLDER}, unavailable_columns=("b",))
    (found,) = PLAIN.decode(PLAIN.encode(batch))
    assert found.after == {"id": 1, "a": PLACEHOLDER}
    assert found.unavailable_columns == ("b",)


@pytest.mark.parametrize("form", [PLAIN, SCHEMA])
def test_foreign_event_is_the_same_when_read_and_written(form: DebeziumFormat) -> None:
    tree = {"schema": {"type": "struct"}, "payload": FOREIGN} if form.schema else FOREIGN
    batch = form.decode([json.dumps(tree).encode()])
    assert json.loads(form.encode(batch)[0]) == tree


def test_foreign_event_is_understood() -> None:
    (found,) = PLAIN.decode([json.dumps(FOREIGN).encode()])
    assert found.source == Origin("postgres", "24023128", 1559033904863)
    assert found.transaction == Transaction(555, None, 0)
    assert (found.schema, found.table, found.ts_ms) == ("public", "customers", 1559033904864)


def test_schema_describes_the_payload() -> None:
    row = {"id": 1, "n": 1.5, "s": "x", "b": True, "l": [1], "o": {"k": None}}
    tree = json.loads(SCHEMA.encode(event(after=row))[0])
    assert set(tree) == {"schema", "payload"}
    fields = {field["field"]: field for field in tree["schema"]["fields"]}
    assert list(fields) == list(tree["payload"])
    kinds = {field["field"]: field["type"] for field in fields["after"]["fields"]}
    assert kinds == {
        "id": "int64", "n": "double", "s": "string", "b": "boolean", "l": "array", "o": "struct",
    }  # fmt: skip
    assert fields["before"]["fields"] == fields["after"]["fields"]
    assert fields["op"]["type"] == "string"


def test_record_with_a_schema_is_refused_when_none_is_expected() -> None:
    with pytest.raises(DataError):
        PLAIN.decode(SCHEMA.encode(event()))
    with pytest.raises(DataError, match="schema"):
        SCHEMA.decode(PLAIN.encode(event()))


def test_delete_is_followed_by_a_tombstone() -> None:
    batch = EventBatch.concat([event(Operation.DELETE), event(Operation.INSERT)])
    delete, tombstone, insert = PLAIN.messages(batch)
    assert tombstone == Message(b'{"id":1}', None)
    assert delete.key == insert.key == b'{"id":1}'
    assert len(DebeziumFormat(tombstones=False).messages(batch)) == 2
    assert PLAIN.read_messages([delete, tombstone, insert]).equals(
        PLAIN.decode(PLAIN.encode(batch))
    )


def test_key_has_its_schema_when_asked_and_none_when_the_table_has_no_key() -> None:
    (key,) = SCHEMA.keys(event())
    assert key is not None
    tree = json.loads(key)
    assert tree["payload"] == {"id": 1}
    assert tree["schema"]["fields"] == [{"type": "int64", "optional": True, "field": "id"}]
    assert PLAIN.keys(event(primary_key=None)) == [None]
    (tombstoneless,) = PLAIN.messages(event(Operation.DELETE, primary_key=None))
    assert tombstoneless.value is not None
