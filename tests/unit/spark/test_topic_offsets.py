"""Offsets of a topic as Spark's: limits, restarts, and what a broker has let go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from headwater.errors import ConfigError, GapError
from headwater.event import EventBatch
from headwater.spark.source.limits import ReadAllAvailable
from headwater.spark.source.options import Options
from headwater.spark.source.topic import Offsets, TopicBatchReader, TopicStreamReader
from headwater.testing.builders import inserts


@dataclass
class Scripted:
    """A topic that is read only where it has been given events: one batch for each number."""

    first: int = 0
    end: int = 10
    name: str = "crm"
    events: tuple[int, ...] = ()
    known_by: str | None = None

    def identity(self) -> str | None:
        return self.known_by

    def bounds(self) -> tuple[int, int]:
        return self.first, self.end

    def offset_at(self, ms: int) -> int:
        return ms // 1000

    def read(self, first: int, end: int) -> Iterator[EventBatch]:
        assert self.events, (first, end)
        for number in self.events:
            yield inserts(1, 1).with_sequence(number)


def _stream(topic: Scripted, **given: str) -> TopicStreamReader:
    return TopicStreamReader(topic, Options.parse(given))


def _shares(parts: Any) -> list[tuple[int, int]]:
    assert all(isinstance(each, Offsets) for each in parts)
    return [(each.first, each.end) for each in parts]


def test_micro_batches_end_within_the_limit_and_at_the_end_of_the_run() -> None:
    topic = Scripted(first=2)
    stream = _stream(topic, maxRowsPerTrigger="5")
    stream.prepareForTriggerAvailableNow()
    topic.end = 99
    start = stream.initialOffset()
    assert start == {"offset": 2, "topic": "crm", "origin": 2}
    ends = []
    while start["offset"] < 10:
        end = stream.latestOffset(start)
        ends.append(end["offset"])
        assert _shares(stream.partitions(start, end))[-1][1] == end["offset"]
        start = end
    assert ends == [7, 10]
    assert stream.latestOffset(start) == start
    assert stream.latestOffset({"offset": 2, "topic": "crm"}, ReadAllAvailable())["offset"] == 10
    later = {"offset": 99, "topic": "crm"}  # a query that begins with what is still to come
    assert stream.latestOffset(later) == later


def test_repeated_first_batch_begins_where_the_query_began() -> None:
    """INV-3: after a crash Spark asks for the beginning again, which is a later place by then."""
    topic = Scripted()
    began = _stream(topic, startingSequence="latest")
    start = began.initialOffset()
    topic.end = 15
    end = began.latestOffset(start)
    topic.end = 20
    again = _stream(topic, startingSequence="latest", partitions="2")
    assert _shares(again.partitions(again.initialOffset(), end)) == [(10, 13), (13, 15)]


def test_records_that_the_broker_has_let_go_are_a_gap() -> None:
    """INV-9."""
    stream = _stream(Scripted(first=5))
    with pytest.raises(GapError) as caught:
        stream.partitions({"offset": 3, "topic": "crm"}, {"offset": 8, "topic": "crm"})
    assert caught.value.code == "kafka-gap"
    assert stream.partitions({"offset": 3, "topic": "crm"}, {"offset": 3, "topic": "crm"}) == []
    with pytest.raises(GapError, match="of topic other"):
        stream.partitions({"offset": 5, "topic": "other"}, {"offset": 8, "topic": "crm"})


@pytest.mark.parametrize("given", [{}, {"maxRowsPerTrigger": "5"}])
@pytest.mark.parametrize("known_by", [None, "one"])
def test_topic_that_ends_before_the_checkpoint_is_a_gap(
    given: dict[str, str], known_by: str | None
) -> None:
    """INV-9: it was deleted and made anew, or its last records were lost."""
    topic = Scripted(end=500, known_by=known_by)
    began = _stream(topic)
    place = began.latestOffset(began.initialOffset())
    topic.end = 300
    for prepared in (False, True):
        again = _stream(topic, **given)
        if prepared:
            again.prepareForTriggerAvailableNow()
        with pytest.raises(GapError, match="at record 500, and the topic has 300") as caught:
            again.latestOffset(place)
        assert caught.value.code == "kafka-gap"
    early = _stream(topic)  # of Spark 4.1, which does not say where it stands
    with pytest.raises(GapError, match="at record 500"):
        early.partitions(place, early.latestOffset())


def test_topic_made_anew_is_a_gap_when_it_has_outgrown_the_checkpoint() -> None:
    """INV-9: the same offsets are other records."""
    topic = Scripted(end=500, known_by="one")
    began = _stream(topic, maxRowsPerTrigger="400")
    start = began.initialOffset()
    first = began.latestOffset(start)
    assert first == {"offset": 400, "topic": "crm", "origin": 0, "identity": "one"}
    topic.end, topic.known_by = 700, "two"
    again = _stream(topic)
    calls = (
        lambda: again.latestOffset(first),
        lambda: again.partitions(start, first),
        lambda: again.partitions(again.initialOffset(), first),
        lambda: again.partitions(first, again.latestOffset()),
    )
    for call in calls:
        with pytest.raises(GapError, match="made anew") as caught:
            call()
        assert caught.value.code == "kafka-gap"


def test_checkpoint_goes_on_when_it_or_the_broker_does_not_know_the_topic_by_an_id() -> None:
    topic = Scripted(end=10, known_by="one")
    stream, old = _stream(topic), {"offset": 10, "topic": "crm", "origin": 0}
    assert stream.latestOffset(old) == old  # as it is, or Spark would run an empty micro-batch
    topic.end = 12
    new = stream.latestOffset(old)
    assert new == {**old, "offset": 12, "identity": "one"}
    assert _shares(stream.partitions(old, new)) == [(10, 11), (11, 12)]
    topic.end, topic.known_by = 13, None
    newer = stream.latestOffset(new)
    assert newer == {**new, "offset": 13}
    assert _shares(stream.partitions(new, newer)) == [(12, 13)]


@pytest.mark.parametrize(
    ("events", "asked", "missing"),
    [
        ((4, 5), 2, True),
        ((4, 5), 3, False),
        ((4, 5, 1, 2), 0, False),  # written once more, from the beginning
    ],
)
def test_events_asked_for_by_number_are_a_gap_when_the_broker_may_have_let_them_go(
    events: tuple[int, ...], asked: int, *, missing: bool
) -> None:
    """INV-9."""
    options = {"startingSequence": str(asked)}
    cut = Scripted(first=5, events=events)
    readers = TopicBatchReader(cut, Options.parse(options)), _stream(cut, **options)
    for begin in (readers[0].partitions, readers[1].initialOffset):
        if missing:
            with pytest.raises(GapError) as caught:
                begin()
            assert caught.value.code == "kafka-gap"
        else:
            assert begin()
    assert _stream(cut, startingSequence="earliest").initialOffset()["offset"] == 5
    # Nothing was let go of this one: events of other tables have been left out of it.
    whole = Scripted(events=events)
    assert _shares(TopicBatchReader(whole, Options.parse(options)).partitions())[0][0] == 0


def test_batch_reads_begin_by_time_and_take_what_is_there() -> None:
    options = Options.parse({"startingTime": "1970-01-01T00:00:04", "partitions": "4"})
    shares = _shares(TopicBatchReader(Scripted(), options).partitions())
    assert shares == [(4, 6), (6, 8), (8, 10)]
    assert TopicBatchReader(Scripted(end=0), Options.parse({})).partitions() == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("consumer", "x"),
        ("maxBytesPerTrigger", "1m"),
        ("startingPosition", "x"),
        ("slot", "x"),
        ("url", "x"),
    ],
)
def test_option_that_a_topic_cannot_heed_is_refused(name: str, text: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not for topics"):
        _stream(Scripted(), **{name: text})
