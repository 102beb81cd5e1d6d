"""EventBatch: building, borders, slices and joins."""

from __future__ import annotations

import pyarrow as pa
import pytest

from headwater.errors import DataError
from headwater.event import (
    EVENT_SCHEMA,
    Event,
    EventBatch,
    Operation,
    Origin,
    Position,
    Transaction,
)


def event(transaction: Transaction | None = None, number: int = 0) -> Event:
    return Event(
        Operation.INSERT,
        Origin("s", f"o{number}", 0),
        1,
        "t",
        after={"id": number},
        transaction=transaction,
    )


def two_transactions_and_one_alone(*, closes_transaction: bool = True) -> EventBatch:
    places = [
        Transaction(1, None, 0), Transaction(1, None, 1),
        None,
        Transaction(2, 3, 0), Transaction(2, 3, 1), Transaction(2, 3, 2),
    ]  # fmt: skip
    events = [event(place, number) for number, place in enumerate(places)]
    batch = EventBatch.from_events(events, closes_transaction=closes_transaction)
    return batch.with_sequence(100)


def test_borders_stand_at_the_end_of_each_transaction_when_batch_is_whole() -> None:
    assert two_transactions_and_one_alone().borders().tolist() == [101, 102, 105]


def test_last_event_is_no_border_when_its_transaction_goes_on() -> None:
    batch = two_transactions_and_one_alone(closes_transaction=False)
    assert batch.borders().tolist() == [101, 102]


def test_border_lies_between_when_one_transaction_id_starts_anew() -> None:
    batch = EventBatch.from_events([event(Transaction(1, None, 0)), event(Transaction(1, None, 0))])
    assert batch.ends_transaction().tolist() == [True, True]


def test_last_event_is_no_border_when_it_has_no_transaction_block_but_batch_goes_on() -> None:
    batch = EventBatch.from_events([event(), event()], closes_transaction=False)
    assert batch.ends_transaction().tolist() == [True, False]


@pytest.mark.parametrize(
    ("start", "length", "closes"),
    [(0, 1, False), (0, 2, True), (0, 3, True), (2, 2, False), (3, None, True), (0, 6, True)],
)
def test_slice_knows_whether_its_end_is_a_border(
    start: int, length: int | None, closes: bool
) -> None:
    part = two_transactions_and_one_alone().slice(start, length)
    assert part.closes_transaction is closes
    assert part.first_sequence == 100 + start
    assert bool(part.ends_transaction()[-1]) is closes


def test_slice_keeps_the_open_end_when_batch_goes_on() -> None:
    assert not two_transactions_and_one_alone(closes_transaction=False).slice(3).closes_transaction


def test_concat_gives_back_the_batch_when_its_slices_are_joined() -> None:
    batch = two_transactions_and_one_alone(closes_transaction=False)
    joined = EventBatch.concat([batch.slice(0, 4), batch.slice(4)])
    assert joined.equals(batch)
    assert joined.closes_transaction is False


def test_concat_is_empty_when_nothing_is_joined() -> None:
    batch = EventBatch.concat([])
    assert len(batch) == 0
    assert list(batch) == []
    assert batch.borders().tolist() == []


def test_concat_ends_a_transaction_when_an_empty_piece_comes_last() -> None:
    batch = two_transactions_and_one_alone()
    assert EventBatch.concat([batch, batch.slice(0, 0)]).closes_transaction
    assert EventBatch.concat([]).slice(0).closes_transaction


def test_with_sequence_numbers_densely_and_changes_nothing_else() -> None:
    batch = two_transactions_and_one_alone()
    again = batch.with_sequence(7)
    assert (again.first_sequence, again.last_sequence) == (7, 12)
    assert again.records.drop_columns(["sequence_number"]).equals(
        batch.records.drop_columns(["sequence_number"])
    )


def test_filter_keeps_the_chosen_events() -> None:
    batch = two_transactions_and_one_alone()
    kept = batch.filter(pa.array([True, False, True, False, False, False]))
    assert [item.source.offset for item in kept] == ["o0", "o2"]


def test_from_columns_repeats_plain_values_and_fills_the_rest() -> None:
    batch = EventBatch.from_columns({"op": 1, "offset": ["a", "b"], "primary_key": ["id", "org"]})
    assert batch.column("primary_key").to_pylist() == [["id", "org"]] * 2
    assert batch.column("before").null_count == 2
    assert batch.column("event_id").to_pylist() == [b"\0" * 16] * 2
    assert batch.records.schema.equals(EVENT_SCHEMA, check_metadata=True)


def test_from_columns_takes_one_key_per_event_when_given_lists() -> None:
    batch = EventBatch.from_columns({"op": [1, 1], "primary_key": [["a"], None]})
    assert batch.column("primary_key").to_pylist() == [["a"], None]
    batch = EventBatch.from_columns({"op": [1, 1], "primary_key": [None, ["a"]]})
    assert batch.column("primary_key").to_pylist() == [None, ["a"]]


def test_from_columns_refuses_unknown_names_and_no_length() -> None:
    for columns in ({"op": [1], "colour": ["red"]}, {"op": 1}):
        with pytest.raises(DataError) as caught:
            EventBatch.from_columns(columns)
        assert caught.value.code == "event-schema"


def test_batch_is_refused_when_its_schema_is_another() -> None:
    with pytest.raises(DataError) as caught:
        EventBatch(pa.RecordBatch.from_pydict({"a": [1]}))
    assert caught.value.code == "event-schema"


def test_position_has_one_text_whatever_the_order_of_its_members() -> None:
    first, second = Position({"b": 1, "a": [None, "x"]}), Position({"a": [None, "x"], "b": 1})
    assert first.encode() == second.encode() == '{"a":[null,"x"],"b":1}'
    assert Position.decode(first.encode()) == first


@pytest.mark.parametrize("text", ["", "[]", "5", "{", "null"])
def test_position_is_refused_when_its_text_is_no_object(text: str) -> None:
    with pytest.raises(DataError) as caught:
        Position.decode(text)
    assert caught.value.code == "position-invalid"


def test_operation_has_the_envelopes_words_and_numbers() -> None:
    assert [(int(op), op.label) for op in Operation] == [
        (1, "insert"), (2, "update"), (3, "delete"),
        (4, "read"), (5, "schema_change"), (6, "truncate"),
        (7, "message"),
    ]  # fmt: skip
    assert all(Operation.from_label(op.label) is op for op in Operation)
    with pytest.raises(ValueError, match="upsert"):
        Operation.from_label("upsert")
