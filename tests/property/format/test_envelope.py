"""The formats against independent readers, for any valid batch."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, validate
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.avro_schema import EVENT, EVENT_12
from headwater.format.headwater.json import JsonFormat
from headwater.format.headwater.protobuf import ProtobufFormat
from headwater.testing.strategies import event_batches, events
from tests.unit.format import seed

SEED_AVRO = fastavro.parse_schema(seed.AVRO)
SEED_EVENT = seed.protobuf_event()
SIX = tuple(Operation)[:6]  # what the seed's readers know
relaxed = settings(deadline=None, max_examples=40)


def plain(event: Event) -> dict[str, Any]:
    """The envelope of an event, member by member, written without the code under test."""
    members: dict[str, Any] = {
        "before": event.before,
        "after": event.after,
        "op": event.op.name.lower(),
        "source": {
            "source_name": event.source.source_name,
            "offset": event.source.offset,
            "timestamp": event.source.timestamp_ms,
        },
        "ts": event.ts_ms,
        "schema": event.schema,
        "table": event.table,
        "primary_key": None if event.primary_key is None else list(event.primary_key),
        "snapshot": event.snapshot
        and {
            "snapshot_id": event.snapshot.snapshot_id,
            "chunk_index": event.snapshot.chunk_index,
            "is_last_chunk": event.snapshot.is_last_chunk,
        },
        "transaction": event.transaction
        and {
            "tx_id": event.transaction.tx_id,
            "total_events": event.transaction.total_events,
            "event_index": event.transaction.event_index,
        },
        "envelope_version": 1,
        "before_is_key_only": event.before_is_key_only,
        "unavailable_columns": list(event.unavailable_columns),
        "before_unavailable_columns": list(event.before_unavailable_columns),
    }
    late = ("unavailable_columns", "before_unavailable_columns")
    return {name: value for name, value in members.items() if name not in late or value}


@relaxed
@given(batch=event_batches(), sort=st.booleans())
def test_json_equals_the_standard_librarys_text_when_batch_is_valid(
    batch: EventBatch, sort: bool
) -> None:
    expected = []
    for event in batch:
        members = plain(event)
        if sort:
            for image in ("before", "after"):
                members[image] = json.loads(json.dumps(members[image], sort_keys=True))
        expected.append(json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode())
    records = JsonFormat(sort_row_keys=sort).encode(batch)
    assert list(records) == expected
    assert not any(b"\n" in record for record in records)


@relaxed
@given(batch=event_batches(operations=SIX))
def test_avro_begins_with_the_seeds_datum_when_batch_is_valid(batch: EventBatch) -> None:
    for record, event in zip(AvroFormat().encode(batch), batch, strict=True):
        stream = BytesIO(record)
        datum = fastavro.schemaless_reader(stream, SEED_AVRO, None)
        again = BytesIO()
        fastavro.schemaless_writer(again, SEED_AVRO, datum)
        assert record.startswith(again.getvalue())
        assert datum["table"] == event.table
        assert datum["primary_key"] == list(event.primary_key or ())
        assert datum["op"] == event.op.name
        lists = (event.unavailable_columns, event.before_unavailable_columns)
        assert (record[stream.tell() :] == b"\x00\x00") == (lists == ((), ()))


@relaxed
@given(event=events(SIX))
def test_avro_of_twelve_fields_reads_back_when_no_list_is_lost(event: Event) -> None:
    batch = EventBatch.from_events([event])
    form = AvroFormat(writer_schema=EVENT_12)
    if event.unavailable_columns or event.before_unavailable_columns:
        with pytest.raises(DataError, match="has no field"):
            form.encode(batch)
        return
    fourteen = AvroFormat().encode(batch)[0]
    assert list(form.encode(batch)) == [fourteen.removesuffix(b"\x00\x00")]
    assert form.decode(form.encode(batch)).equals(AvroFormat().decode([fourteen]))


@relaxed
@given(batch=event_batches(operations=SIX))
def test_protobuf_equals_the_seeds_message_when_batch_is_valid(batch: EventBatch) -> None:
    for record, event in zip(ProtobufFormat().encode(batch), batch, strict=True):
        members = plain(event)
        if event.transaction is not None and event.transaction.total_events is None:
            del members["transaction"]["total_events"]
        for image in ("before", "after"):
            if members[image] is not None:
                text = json.dumps(members[image], ensure_ascii=False, separators=(",", ":"))
                members[image] = text.encode()
        message = SEED_EVENT(**members | {"op": members["op"].upper()})
        assert record == message.SerializeToString()


@relaxed
@given(event=events((Operation.MESSAGE,)))
def test_message_is_never_misread_when_a_reader_knows_six_operations(event: Event) -> None:
    batch = EventBatch.from_events([event])
    with pytest.raises(IndexError):
        fastavro.schemaless_reader(BytesIO(AvroFormat().encode(batch)[0]), SEED_AVRO, None)
    for narrow in (EVENT, EVENT_12):
        with pytest.raises(DataError, match="no symbol for a message"):
            AvroFormat(writer_schema=narrow).encode(batch)
    found = SEED_EVENT.FromString(ProtobufFormat().encode(batch)[0])
    assert found.op not in SEED_EVENT.DESCRIPTOR.fields_by_name["op"].enum_type.values_by_number


@relaxed
@given(batch=event_batches())
def test_formats_agree_when_one_decodes_what_another_carried(batch: EventBatch) -> None:
    validate(batch)
    decoded = [
        form.decode(form.encode(batch)) for form in (JsonFormat(), AvroFormat(), ProtobufFormat())
    ]
    assert decoded[0].equals(decoded[1])
    assert decoded[1].equals(decoded[2])
    validate(decoded[0])


@settings(deadline=None, max_examples=300)
@given(record=st.binary(max_size=300))
def test_decode_raises_nothing_but_data_errors_when_given_any_bytes(record: bytes) -> None:
    for form in (
        JsonFormat(),
        AvroFormat(),
        AvroFormat(writer_schema=EVENT_12),
        ProtobufFormat(),
    ):
        try:
            batch = form.decode([record])
        except DataError:
            continue
        batch.records.validate(full=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(deadline=None, max_examples=300)
@given(event=events(), member=st.sampled_from(sorted(seed.JSON_PATHS)), value=JSON)
def test_json_raises_nothing_but_data_errors_when_a_member_is_anything(
    event: Event, member: str, value: Any
) -> None:
    members = plain(event)
    parent, _, part = member.partition(".")
    if part and isinstance(members.get(parent), dict):
        members[parent][part] = value
    else:
        members[parent] = value
    try:
        batch = JsonFormat().decode([json.dumps(members).encode()])
    except DataError as error:
        assert error.where == "record 0"  # noqa: PT017
        return
    batch.records.validate(full=True)
    assert len(list(batch)) == 1
