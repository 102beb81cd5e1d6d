"""headwater-json: exact bytes, what a reader accepts, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from headwater.contract import Format
from headwater.errors import DataError
from headwater.event import EVENT_SCHEMA, EventBatch
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.protobuf import ProtobufFormat
from tests.unit.format.samples import READ, UPDATE, batch

UPDATE_TEXT = (
    '{"before":{"id":1,"org":"ä"},"after":{"org":"ä","id":1,"n":null},"op":"update",'
    '"source":{"source_name":"pg","offset":"0/16B6A70","timestamp":1000},"ts":2000,'
    '"schema":"public","table":"users","primary_key":["id","org"],"snapshot":null,'
    '"transaction":{"tx_id":7,"total_events":2,"event_index":1},"envelope_version":1,'
    '"before_is_key_only":true,"unavailable_columns":["bio"]}'
)
READ_TEXT = (
    '{"before":null,"after":{},"op":"read",'
    '"source":{"source_name":"pg","offset":"a\\"b\\\\c\\n\\u0001","timestamp":0},"ts":3,'
    '"schema":null,"table":"t","primary_key":null,'
    '"snapshot":{"snapshot_id":"s1","chunk_index":5,"is_last_chunk":true},'
    '"transaction":{"tx_id":9223372036854775807,"total_events":null,"event_index":0},'
    '"envelope_version":1,"before_is_key_only":false,'
    '"before_unavailable_columns":["x","y"]}'
)
# The published sample's shape: eleven members, none of the later ones.
ELEVEN = (
    '{"before":null,"after":{"id":1},"op":"insert",'
    '"source":{"source_name":"postgres","offset":"0/16B6A70","timestamp":1},"ts":2,'
    '"schema":"public","table":"users","primary_key":["id"],"snapshot":null,'
    '"transaction":null,"envelope_version":1}'
)


def changed(**members: Any) -> bytes:
    return json.dumps(json.loads(UPDATE_TEXT) | members).encode()


def without(name: str) -> bytes:
    record = json.loads(UPDATE_TEXT)
    del record[name]
    return json.dumps(record).encode()


def test_encode_writes_the_known_bytes_when_given_the_samples() -> None:
    records = JsonFormat().encode(batch(UPDATE, READ))
    assert [record.decode() for record in records] == [UPDATE_TEXT, READ_TEXT]


def test_encode_sorts_row_names_when_asked() -> None:
    record = JsonFormat(sort_row_keys=True).encode(batch(UPDATE))[0].decode()
    assert record == UPDATE_TEXT.replace(
        '{"org":"ä","id":1,"n":null}', '{"id":1,"n":null,"org":"ä"}'
    )


def test_encode_refuses_the_event_when_a_row_to_sort_is_not_json() -> None:
    events = EventBatch.from_columns({"op": [1, 1], "ts_ms": 1, "after": ["{}", "{"]})
    with pytest.raises(DataError, match="not JSON") as caught:
        JsonFormat(sort_row_keys=True).encode(events)
    assert caught.value.code == "format-unwritable"
    assert caught.value.where == "record 1"


def test_encode_splices_the_image_text_when_a_reprint_would_change_it() -> None:
    text = '{"a":1.10,"b":1E5,"c":"\\u0041","d":1180591620717411303424}'
    columns = {"op": [1], "source_name": "s", "table_name": "t", "ts_ms": 1, "after": [text]}
    events = EventBatch.from_columns(columns)
    record = JsonFormat().encode(events)[0]
    assert f'"after":{text},' in record.decode()
    assert JsonFormat().decode([record]).column("after").to_pylist() == [text]


def test_encode_refuses_the_event_when_its_op_has_no_name() -> None:
    events = EventBatch.from_columns({"op": [1, 9], "ts_ms": 1})
    with pytest.raises(DataError, match="op is 9") as caught:
        JsonFormat().encode(events)
    assert caught.value.code == "format-unwritable"
    assert caught.value.where == "record 1"


def test_encode_leaves_lists_out_when_they_are_empty_instead_of_null() -> None:
    events = EventBatch.from_columns(
        {"op": [1, 1], "ts_ms": 1, "unavailable_columns": pa.array([[], ["a"]])}
    )
    first, second = JsonFormat().encode(events)
    assert b"unavailable_columns" not in first
    assert second.endswith(b'"unavailable_columns":["a"]}')


def test_decode_reads_the_known_bytes_when_given_the_samples() -> None:
    decoded = JsonFormat().decode([UPDATE_TEXT.encode(), READ_TEXT.encode()])
    assert decoded.records.equals(batch(UPDATE, READ).records)
    assert decoded.records.schema.equals(EVENT_SCHEMA)


def test_decode_fills_defaults_when_later_members_are_absent() -> None:
    (event,) = JsonFormat().decode([ELEVEN.encode()])
    assert event.before_is_key_only is False
    assert event.unavailable_columns == ()
    assert event.before_unavailable_columns == ()


@pytest.mark.parametrize("name", ["before", "schema", "primary_key", "snapshot", "transaction"])
def test_decode_reads_null_when_a_nullable_member_is_absent(name: str) -> None:
    (event,) = JsonFormat().decode([without(name)])
    assert getattr(event, name) is None


def test_decode_reads_any_layout_when_members_are_reordered_and_spaced() -> None:
    record = json.loads(UPDATE_TEXT)
    shuffled = json.dumps(dict(reversed(record.items())), indent=2) + "\n"
    spaced = json.dumps(record)
    decoded = JsonFormat().decode([shuffled.encode(), spaced.encode()])
    assert decoded.records.equals(batch(UPDATE, UPDATE).records)


def test_decode_takes_line_breaks_out_when_an_image_is_pretty_printed() -> None:
    record = UPDATE_TEXT.replace('{"id":1,"org":"ä"}', '{\n"id": 1,\r\n"org":"ä"}')
    decoded = JsonFormat().decode([record.encode()])
    assert decoded.column("before").to_pylist() == ['{"id": 1,"org":"ä"}']


def test_decode_keeps_members_that_it_does_not_know_beside_the_envelope() -> None:
    record = changed(cluster={"a": [1]})
    decoded = JsonFormat().decode([record])
    assert decoded.records.drop_columns(["extra"]).equals(
        batch(UPDATE).records.drop_columns(["extra"])
    )
    assert [json.loads(again) for again in JsonFormat().encode(decoded)] == [json.loads(record)]


@pytest.mark.parametrize("form", [JsonFormat(), AvroFormat(), ProtobufFormat()])
def test_decode_keeps_an_empty_key_list_when_another_form_carried_it(form: Format) -> None:
    record = changed(primary_key=[])
    decoded = JsonFormat().decode([record])
    assert decoded.column("primary_key").to_pylist() == [None]
    carried = form.decode(form.encode(decoded))
    assert [json.loads(again) for again in JsonFormat().encode(carried)] == [json.loads(record)]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (b"", "not an envelope"),
        (UPDATE_TEXT[:-1].encode(), "not an envelope"),
        (UPDATE_TEXT.encode() + b"x", "not an envelope"),
        (UPDATE_TEXT.encode()[:-40] + b"\xff", "not an envelope"),
        (b"[1]", "not an object"),
        (b'{"before":' * 100_000, "nested too deeply"),
        (changed(before=[1]), "image is not a JSON object"),
        (UPDATE_TEXT.replace('"ä"', "NaN").encode(), "NaN is not JSON"),
        (UPDATE_TEXT.replace('"ä"', '"\\ud800"').encode(), "surrogate"),
        (changed(table="\ud800"), "table cannot be held"),
        (changed(op="upsert"), "none of the operations"),
        (changed(op=[1]), "none of the operations"),
        (changed(envelope_version=2), "envelope_version is 2"),
        (changed(envelope_version=True), "envelope_version is True"),
        (without("envelope_version"), "envelope_version is missing"),
        (without("ts"), "ts is missing"),
        (changed(ts=2**63), "ts cannot be held"),
        (changed(ts=1.0), "ts is a float"),
        (changed(ts=True), "ts is a bool"),
        (changed(ts="1"), "ts is a str"),
        (changed(table=None), "table is a NoneType"),
        (changed(source=None), "source.source_name is missing"),
        (changed(source=5), "source is not an object"),
        (changed(source={"source_name": "pg", "timestamp": 1}), "source.offset is missing"),
        (changed(primary_key="id"), "primary_key is a str"),
        (changed(primary_key=["id", 1]), "primary_key is not a list of strings"),
        (changed(unavailable_columns=0), "unavailable_columns is a int"),
        (changed(before_is_key_only=None), "before_is_key_only is a NoneType"),
        (changed(transaction=[1, 2, 3]), "transaction is not an object"),
        (changed(transaction={"tx_id": 1}), "transaction.event_index is missing"),
        (changed(transaction={"tx_id": 2**63, "event_index": 0}), "tx_id cannot be held"),
        (changed(snapshot={"snapshot_id": "a", "chunk_index": 1.5, "is_last_chunk": True}),
         "chunk_index is a float"),
        (changed(snapshot={"snapshot_id": "a", "is_last_chunk": True}), "chunk_index is a None"),
    ],
)  # fmt: skip
def test_decode_names_record_and_reason_when_a_record_is_bad(record: bytes, reason: str) -> None:
    good = UPDATE_TEXT.encode()
    with pytest.raises(DataError) as caught:
        JsonFormat().decode([good, good, record, good])
    assert caught.value.code == "format-bad-record"
    assert caught.value.where == "record 2"
    assert reason in caught.value.message
