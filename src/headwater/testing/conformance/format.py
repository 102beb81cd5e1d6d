"""What every format promises, as a pytest suite.

A format's author subclasses it in a test file and gives the format:

    class TestMyFormat(FormatConformance):
        def format(self) -> Format:
            return MyFormat()

Needs pytest and hypothesis, development tools: install them beside your tests.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headwater.contract import Format
from headwater.errors import DataError
from headwater.event import Event, EventBatch, Operation, Origin, Transaction, encode_row
from headwater.testing.strategies import event_batches, events

# One inherited method serves many subclasses; hypothesis would take that for a mistake.
_shared = settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.differing_executors, HealthCheck.too_slow],
)
# A batch has about four events: these are a hundred, and drawing them is what takes the time.
_batches = settings(_shared, max_examples=25)


def envelope(batch: EventBatch) -> list[tuple[Event, str | None, str | None]]:
    """The fields that the envelope carries, in a form that compares exactly.

    Row images are compared as compact text: to Python, 1 and 1.0 and True are one value, and the
    order of a row's columns is none.
    """
    return [
        (
            replace(
                event,
                before=None,
                after=None,
                sequence_number=0,
                event_id=UUID(int=0),
                schema_id=0,
                context=None,
                extra=None,
            ),
            None if event.before is None else encode_row(event.before),
            None if event.after is None else encode_row(event.after),
        )
        for event in batch
    ]


class FormatConformance:
    """Subclass, and return the format under test from `format`.

    `operations` are those that the format has a form for; the others must be refused, each with a
    DataError: a format never disguises one operation as another.
    """

    operations: tuple[Operation, ...] = tuple(Operation)

    def format(self) -> Format:
        """The format under test."""
        raise NotImplementedError

    def test_format_has_a_name_and_a_media_type(self) -> None:
        """Configuration and consumers identify the format by them."""
        form = self.format()
        assert form.name.strip() == form.name != ""
        assert "/" in form.content_type

    @_batches
    @given(draw=st.data())
    def test_decode_returns_the_encoded_events_when_the_batch_is_valid(
        self, draw: st.DataObject
    ) -> None:
        """No loss on any field of the envelope, one record per event, in order."""
        batch = draw.draw(event_batches(operations=self.operations))
        form = self.format()
        records = form.encode(batch)
        assert len(records) == len(batch)
        assert all(type(record) is bytes for record in records)
        assert envelope(form.decode(records)) == envelope(batch)

    @_batches
    @given(draw=st.data())
    def test_encode_repeats_its_bytes_when_the_events_were_decoded(
        self, draw: st.DataObject
    ) -> None:
        """A record that passes through another hop is the same record."""
        batch = draw.draw(event_batches(operations=self.operations))
        form = self.format()
        records = form.encode(batch)
        assert list(form.encode(form.decode(records))) == list(records)

    @_batches
    @given(draw=st.data())
    def test_records_stand_alone_when_taken_one_by_one(self, draw: st.DataObject) -> None:
        """No record depends on its neighbours: a queue may deliver them apart."""
        batch = draw.draw(event_batches(min_size=1, operations=self.operations))
        form = self.format()
        apart = [form.encode(batch.slice(row, 1))[0] for row in range(len(batch))]
        assert apart == list(form.encode(batch))
        joined = EventBatch.concat([form.decode([record]) for record in apart])
        assert envelope(joined) == envelope(batch)

    def test_decode_takes_an_iterator_when_records_arrive_as_a_stream(self) -> None:
        """Records need not be in a list."""
        form = self.format()
        records = form.encode(_sample())
        assert envelope(form.decode(iter(records))) == envelope(_sample())

    def test_nothing_becomes_nothing_when_there_are_no_events(self) -> None:
        """An empty batch has no records, and no records are an empty batch."""
        form = self.format()
        assert list(form.encode(EventBatch.concat([]))) == []
        assert len(form.decode([])) == 0

    def test_fields_outside_the_envelope_have_defaults_when_decoded(self) -> None:
        """Sequence, id, schema id and context belong to a log, and are not invented."""
        form = self.format()
        for event in form.decode(form.encode(_sample())):
            assert event.sequence_number == 0
            assert event.event_id == UUID(int=0)
            assert event.schema_id == 0
            assert event.context is None

    @pytest.mark.parametrize("bad", [b"", b"\xff\xfe\xfd\xfc", b"no record at all \x00"])
    def test_decode_names_the_record_when_one_is_bad(self, bad: bytes) -> None:
        """The error says which record, so that it alone can be set aside."""
        form = self.format()
        good = list(form.encode(_sample()))
        with pytest.raises(DataError) as caught:
            form.decode([*good, bad, *good])
        assert f"record {len(good)}" in caught.value.where
        assert caught.value.message

    @_shared
    @given(data=st.binary(max_size=200))
    def test_decode_raises_only_data_errors_when_given_any_bytes(self, data: bytes) -> None:
        """Bytes from outside never raise anything but DataError."""
        _decode_or_refuse(self.format(), data)

    @_shared
    @given(draw=st.data())
    def test_encode_refuses_an_operation_when_the_format_has_no_form_for_it(
        self, draw: st.DataObject
    ) -> None:
        """It is refused by a DataError that names the record, and never disguised."""
        others = tuple(op for op in Operation if op not in self.operations)
        if not others:
            return
        event = draw.draw(events(others))
        with pytest.raises(DataError) as caught:
            self.format().encode(EventBatch.from_events([event]))
        assert caught.value.where == "record 0"

    @_shared
    @given(draw=st.data())
    def test_decode_raises_only_data_errors_when_a_record_is_damaged(
        self, draw: st.DataObject
    ) -> None:
        """A cut, a changed byte or bytes added never raise anything but DataError."""
        batch = draw.draw(event_batches(min_size=1, max_size=1, operations=self.operations))
        form = self.format()
        record = form.encode(batch)[0]
        place = draw.draw(st.integers(0, len(record) - 1))
        byte = draw.draw(st.binary(min_size=1, max_size=1))
        _decode_or_refuse(form, record[:place])
        _decode_or_refuse(form, record[:place] + byte + record[place + 1 :])
        _decode_or_refuse(form, record + byte)


def _decode_or_refuse(form: Format, record: bytes) -> None:
    try:
        batch = form.decode([record])
    except DataError:
        return
    batch.records.validate(full=True)
    assert len(list(batch)) == 1


def _sample() -> EventBatch:
    origin = Origin("shop", "0/16B6A70", 1_700_000_000_000)
    transaction = Transaction(7, None, 0)
    return EventBatch.from_events(
        [
            Event(
                Operation.INSERT,
                origin,
                1_700_000_000_001,
                "orders",
                primary_key=("id",),
                after={"id": 1, "note": None},
                transaction=transaction,
                sequence_number=41,
                event_id=UUID(int=41),
                schema_id=9,
                context={"user": "eve"},
            ),
            Event(
                Operation.DELETE,
                origin,
                1_700_000_000_002,
                "orders",
                schema="main",
                before={"id": 1},
                primary_key=("id",),
                before_is_key_only=True,
                sequence_number=42,
            ),
        ]
    )
