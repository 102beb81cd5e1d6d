"""What is composed column by column is byte for byte what the libraries write."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import DataError
from headwater.event import EVENT_SCHEMA, EventBatch, Operation
from headwater.format._generated.event_pb2 import Event
from headwater.format.headwater.avro import AvroFormat
from headwater.format.headwater.avro_schema import EVENT_WITH_MESSAGES
from headwater.format.headwater.protobuf import ProtobufFormat
from headwater.format.octets import varint, zigzag
from headwater.testing.strategies import event_batches
from tests.property.format import records

# Not the envelope's own schema to the letter, so that fastavro writes it.
BY_LIBRARY = AvroFormat(writer_schema=EVENT_WITH_MESSAGES | {"doc": "the same fields"})
BORDERS = [0, 1, *(2 ** (7 * n) + step for n in range(1, 9) for step in (-1, 0)), 2**63 - 1]


def with_extras(batch: EventBatch, extras: list[str | None]) -> EventBatch:
    place = EVENT_SCHEMA.get_field_index("extra")
    column = pa.array(extras, pa.string())
    return EventBatch(batch.records.set_column(place, EVENT_SCHEMA.field(place), column))


def many(seed: str) -> EventBatch:
    rng = random.Random(seed)
    batch = records.batch(rng, 5_000, tuple(Operation))
    extras = (None, None, None, '{"debezium":{"+":{"a":1}}}', '{"opencdc":{"-":["é"]}}')
    return with_extras(batch, [rng.choice(extras) for _ in range(len(batch))])


def message(row: dict[str, Any]) -> bytes:
    """The event by the Protobuf library; None leaves a field out."""
    names = ("op", "primary_key", "snapshot", "transaction", "before_is_key_only")
    lists = ("unavailable_columns", "before_unavailable_columns")
    built = Event(
        **{name: row[name] for name in (*names, *lists)},
        before=None if row["before"] is None else row["before"].encode(),
        after=None if row["after"] is None else row["after"].encode(),
        source={
            "source_name": row["source_name"],
            "offset": row["offset"],
            "timestamp": row["source_ts_ms"],
        },
        ts=row["ts_ms"],
        schema=row["table_schema"],
        table=row["table_name"],
        envelope_version=1,
        headwater_extra=row["extra"],
    )
    return bytes(built.SerializeToString())


@settings(deadline=None)
@given(batch=event_batches(), first=st.integers(0, 3))
def test_avro_is_the_librarys_when_the_batch_is_valid(batch: EventBatch, first: int) -> None:
    batch = batch.slice(min(first, len(batch)))
    assert AvroFormat().encode(batch) == BY_LIBRARY.encode(batch)


@settings(deadline=None)
@given(batch=event_batches(), first=st.integers(0, 3))
def test_protobuf_is_the_librarys_when_the_batch_is_valid(batch: EventBatch, first: int) -> None:
    batch = batch.slice(min(first, len(batch)))
    assert ProtobufFormat().encode(batch) == list(map(message, batch.records.to_pylist()))


@pytest.mark.parametrize("first", [0, 4_001])
def test_records_are_the_librarys_when_there_are_many(first: int) -> None:
    batch = many("writers").slice(first)
    assert AvroFormat().encode(batch) == BY_LIBRARY.encode(batch)
    assert ProtobufFormat().encode(batch) == list(map(message, batch.records.to_pylist()))


@pytest.mark.parametrize(
    ("form", "oracle"),
    [
        (AvroFormat(), BY_LIBRARY.encode),
        (ProtobufFormat(), lambda batch: list(map(message, batch.records.to_pylist()))),
    ],
    ids=["avro", "protobuf"],
)
def test_numbers_and_lengths_are_the_librarys_when_their_codes_grow(
    form: AvroFormat | ProtobufFormat, oracle: Callable[[EventBatch], list[bytes]]
) -> None:
    lengths = (0, 1, 63, 64, 127, 128, 8_191, 8_192, 16_383, 16_384, 70_000)
    rows = [(number, lengths[row % len(lengths)]) for row, number in enumerate(BORDERS)]
    names = ["é" * length for _, length in rows]
    batch = EventBatch.from_columns(
        {
            "op": [row % 6 + 1 for row in range(len(rows))],
            "source_name": names,
            "offset": names,
            "source_ts_ms": [number for number, _ in rows],
            "ts_ms": [number for number, _ in reversed(rows)],
            "table_schema": names,
            "table_name": names,
            "primary_key": [["", "a"] * (length % 130) for _, length in rows],
            "before_is_key_only": [row % 2 == 0 for row in range(len(rows))],
            "unavailable_columns": [[name] for name in names],
            "after": names,
            "snapshot": [
                {"snapshot_id": name, "chunk_index": min(n, 2**31 - 1), "is_last_chunk": n > 9}
                for (n, _), name in zip(rows, names, strict=True)
            ],
            "transaction": [
                {"tx_id": n, "total_events": None, "event_index": min(n, 2**31 - 1)}
                for n, _ in rows
            ],
        }
    )
    assert form.encode(batch) == oracle(batch)


@given(numbers=st.lists(st.integers(0, 2**63 - 1) | st.sampled_from(BORDERS)))
def test_varint_is_the_librarys_when_numbers_are_of_any_size(numbers: list[int]) -> None:
    written = varint(pa.array(numbers, pa.int64())).to_pylist()
    assert written == list(map(_VarintBytes, numbers))


@given(numbers=st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_zigzag_is_a_varint_of_the_sign_last_when_numbers_are_of_any_size(
    numbers: list[int],
) -> None:
    folded = [2 * number if number >= 0 else -2 * number - 1 for number in numbers]
    assert zigzag(pa.array(numbers, pa.int64())).to_pylist() == list(map(_VarintBytes, folded))


@pytest.mark.parametrize("form", [AvroFormat(), ProtobufFormat()], ids=["avro", "protobuf"])
@pytest.mark.parametrize(
    "name", ["primary_key", "unavailable_columns", "before_unavailable_columns"]
)
def test_encode_refuses_the_event_when_a_name_is_null(
    form: AvroFormat | ProtobufFormat, name: str
) -> None:
    batch = EventBatch.from_columns(
        {"op": [1, 1, 1], "offset": "1", name: [["a"], None, ["b", None]]}
    )
    with pytest.raises(DataError, match=f"{name} holds a null") as caught:
        form.encode(batch)
    assert (caught.value.code, caught.value.where) == ("format-unwritable", "record 2")
