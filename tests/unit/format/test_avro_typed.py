"""`headwater-avro-typed`: rows in the types of their table, there and back, and what is refused."""

from __future__ import annotations

import io
from typing import Any

import avro.io
import avro.schema
import fastavro
import pytest

from headwater.contract import Format
from headwater.errors import ConfigError, DataError
from headwater.event import Kind, Operation, Transaction
from headwater.format.typed.avro import TypedAvroFormat
from headwater.format.typed.names import legal_names
from headwater.format.typed.schema import NAME, table_of, typed_schemas
from headwater.testing.conformance.format import envelope
from tests.unit.format.typed_tables import (
    ORDERS,
    ROW,
    History,
    batch,
    change,
    every_kind,
    table,
)

HEAD = 8
FORM = TypedAvroFormat(History())


def _own_reader(record: bytes) -> dict[str, Any]:
    """What a program reads that knows only the published schema, logical types and all."""
    schema = fastavro.parse_schema(typed_schemas(ORDERS).event)
    datum: dict[str, Any] = fastavro.schemaless_reader(io.BytesIO(record[HEAD:]), schema, None)
    return datum


def test_rows_come_back_as_they_were_when_they_have_every_type() -> None:
    assert every_kind() == set(Kind)
    empty = {**dict.fromkeys(ROW), "id": 1}
    words = {**empty, "single": "NaN", "double": "-Infinity"}
    events = batch(change(ROW), change(empty), change(words), change(ROW, schema_id=1))
    assert envelope(FORM.decode(FORM.encode(events))) == envelope(events)


def test_published_schema_gives_other_readers_typed_values() -> None:
    (record,) = FORM.encode(batch(change(ROW)))
    row = _own_reader(record)["after"]
    assert str(row["price"]) == ROW["price"]
    assert row["moment"].isoformat() == "9999-12-31T23:59:59.999999+00:00"
    assert (row["day"].isoformat(), row["at"].isoformat()) == (ROW["day"], ROW["at"])
    assert row["bytes"] == b"\x00\x01\xff"
    assert str(row["uid"]) == ROW["uid"]
    assert [None if p is None else str(p) for p in row["prices"]] == ROW["prices"]


def test_published_schema_is_valid_to_the_reference_library() -> None:
    schema = avro.schema.make_avsc_object(typed_schemas(ORDERS).event)
    (record,) = FORM.encode(batch(change({**ROW, "local": "2026-01-01T00:00:00.000000"})))
    decoder = avro.io.BinaryDecoder(io.BytesIO(record[HEAD:]))
    datum = avro.io.DatumReader(schema).read(decoder)
    assert isinstance(datum, dict)
    assert datum["after"]["name"] == ROW["name"]


def test_partial_row_stands_apart_when_columns_are_unavailable() -> None:
    sent = {name: value for name, value in ROW.items() if name not in ("name", "doc")}
    events = batch(
        change(
            sent,
            op=Operation.UPDATE,
            before={"id": 1},
            before_is_key_only=True,
            unavailable_columns=("name", "doc"),
            transaction=Transaction(7, 2, 1),
        )
    )
    records = FORM.encode(events)
    seen = _own_reader(records[0])
    assert seen["before"] is None
    assert seen["after"] is None
    assert seen["before_part"]["id"] == 1
    assert seen["before_columns"] == ["id"]
    assert envelope(FORM.decode(records)) == envelope(events)


def test_null_and_absent_stay_apart_when_a_row_is_partial() -> None:
    events = batch(change({"id": 1, "name": None}, unavailable_columns=("doc",)))
    (event,) = FORM.decode(FORM.encode(events))
    assert event.after == {"id": 1, "name": None}


def test_events_without_rows_are_carried_when_their_table_is_unknown() -> None:
    ddl = {"ddl_type": "ALTER TABLE", "number": 1.5, "result_schema": None}
    events = batch(
        change(ddl, op=Operation.SCHEMA_CHANGE, table="other__ddl_events", primary_key=None),
        change(op=Operation.TRUNCATE, table="unheard_of"),
        change(op=Operation.TRUNCATE),
    )
    assert envelope(FORM.decode(FORM.encode(events))) == envelope(events)


def test_tables_keep_their_order_when_they_alternate() -> None:
    people = table(("id", "int64"), ("name", "string"), name="people")
    form = TypedAvroFormat(History((ORDERS, people)))
    events = batch(
        *(
            change(ROW) if n % 2 else change({"id": n, "name": "Ada"}, table="people")
            for n in range(6)
        )
    )
    assert envelope(form.decode(form.encode(events))) == envelope(events)


def test_each_version_of_a_table_is_written_by_its_own_schema() -> None:
    old = table(("id", "int64"), ("amount", "decimal(10,2)"))
    new = table(("id", "int64"), ("amount", "decimal(10,3)"), ("note", "string"))
    form = TypedAvroFormat(History((old, new)))
    events = batch(
        change({"id": 1, "amount": "1.25"}, schema_id=old.schema_id),
        change({"id": 1, "amount": "1.250", "note": "x"}, schema_id=new.schema_id),
        change({"id": 1, "amount": "2.250", "note": None}),  # no id: the newest of its name
    )
    assert envelope(form.decode(form.encode(events))) == envelope(events)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("moment", "infinity"),
        ("moment", "2026-01-01T00:00:00.000000"),
        ("local", "2026-01-01T00:00:00"),
        ("at", "24:00:00"),
        ("day", "2026-02-30"),
        ("price", "1.5"),
        ("price", "100000000.00"),
        ("price", "NaN"),
        ("price", 1.5),
        ("small", 2**15),
        ("medium", True),
        ("flag", 1),
        ("single", 1e39),
        ("double", 2**53 + 1),
        ("double", "one"),
        ("name", {"$binary": "AA=="}),
        ("bytes", "AA="),
        ("uid", "6F1C0000-0000-4000-8000-00000000000A"),
        ("prices", [["1.5"]]),
        ("prices", "1.5"),
        ("id", None),
    ],
)
def test_value_is_refused_by_name_when_its_type_cannot_hold_it(column: str, value: Any) -> None:
    with pytest.raises(DataError) as caught:
        FORM.encode(batch(change(ROW), change({**ROW, column: value})))
    assert caught.value.code == "format-unwritable"
    assert caught.value.where == "record 1"
    assert f"column {column}:" in caught.value.message


def test_row_is_refused_when_it_has_a_column_that_its_table_lacks() -> None:
    with pytest.raises(DataError, match="no column 'stranger'"):
        FORM.encode(batch(change({**ROW, "stranger": 1})))


def test_json_null_is_a_value_when_its_column_is_not_null() -> None:
    form = TypedAvroFormat(
        History((table(("id", "int64"), ("doc", "json"), required=("id", "doc")),))
    )
    events = batch(change({"id": 1, "doc": None}))
    assert envelope(form.decode(form.encode(events))) == envelope(events)


def test_key_is_a_record_of_the_key_columns() -> None:
    (message,) = FORM.messages(batch(change(ROW)))
    schema = fastavro.parse_schema(typed_schemas(ORDERS).key)
    assert fastavro.schemaless_reader(io.BytesIO(message.key or b""), schema, None) == {
        "id": ROW["id"]
    }


def test_names_are_legal_and_apart_when_avro_allows_fewer() -> None:
    assert legal_names(["a b", "a_b", "a-b", "1st", "größe", ""]) == [
        *("a_b_2", "a_b", "a_b_3", "_1st", "gr__e", "_")
    ]
    odd = table(("id", "int64"), ("a b", "string"), ("a_b", "string"), ("", "int32"))
    form = TypedAvroFormat(History((odd,)))
    events = batch(change({"id": 1, "a b": "x", "a_b": "y", "": 3}))
    assert envelope(form.decode(form.encode(events))) == envelope(events)
    fields = typed_schemas(odd).event["fields"][0]["type"][1]["fields"]
    assert [field[NAME] for field in fields] == ["id", "a b", "a_b", ""]


def test_table_is_known_again_from_its_published_schema() -> None:
    again = table_of(typed_schemas(ORDERS).event)
    assert typed_schemas(again) == typed_schemas(ORDERS)


def test_old_record_is_read_by_a_newer_schema_when_a_nullable_column_was_added() -> None:
    (record,) = TypedAvroFormat(History((ORDERS,))).encode(batch(change(ROW)))
    newer = table(
        ("id", "int64"), *((c.name, str(c.type)) for c in ORDERS.columns[1:]), ("x", "json")
    )
    datum: Any = fastavro.schemaless_reader(
        io.BytesIO(record[HEAD:]),
        fastavro.parse_schema(typed_schemas(ORDERS).event),
        fastavro.parse_schema(typed_schemas(newer).event),
    )
    assert datum["after"]["x"] is None
    assert datum["after"]["name"] == ROW["name"]


def test_format_asks_for_schemas_when_it_was_given_none() -> None:
    with pytest.raises(ConfigError) as caught:
        TypedAvroFormat().encode(batch(change(ROW)))
    assert caught.value.code == "format-needs-schemas"


def test_table_is_named_when_the_history_does_not_know_it() -> None:
    with pytest.raises(DataError, match=r"public\.elsewhere") as caught:
        FORM.encode(batch(change(ROW), change(ROW, table="elsewhere")))
    assert (caught.value.code, caught.value.where) == ("format-no-table-schema", "record 1")


@pytest.mark.parametrize("cut", [0, 7, 8, 9, 40])
def test_record_is_refused_by_number_when_it_is_cut(cut: int) -> None:
    form: Format = FORM
    (record,) = form.encode(batch(change(ROW)))
    with pytest.raises(DataError) as caught:
        form.decode([record, record[:cut]])
    assert caught.value.where == "record 1"


def test_record_is_refused_when_bytes_follow_or_its_schema_is_unknown() -> None:
    (record,) = FORM.encode(batch(change(ROW)))
    with pytest.raises(DataError, match="1 bytes follow"):
        FORM.decode([record + b"x"])
    with pytest.raises(DataError, match="has no schema 5"):
        FORM.decode([(5).to_bytes(8, "big") + record[HEAD:]])
