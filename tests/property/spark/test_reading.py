"""Places, admission and filters over any log, compared with plain Python that sees every event."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource as spark

from headwater.event import Event, EventBatch, Operation, event_ids
from headwater.spark.source.admission import Admission
from headwater.spark.source.filters import Pushed, take
from headwater.spark.source.place import Place, PlaceKind, sequence_at
from headwater.spark.source.ranges import _share, _spans
from headwater.testing.builders import IDENTITY, source_batch
from headwater.testing.memory import MemoryLog

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def logs(draw: st.DrawFn) -> MemoryLog:
    """A few transactions, some of them stored in pieces, with times that may run backwards."""
    log = MemoryLog()
    writer = log.writer(IDENTITY)
    for number in range(draw(st.integers(1, 6))):
        rows = draw(st.lists(_rows(), min_size=1, max_size=5))
        offsets = [f"{number}:{index}" for index in range(len(rows))]
        batch = EventBatch.from_columns(
            {
                "event_id": event_ids(IDENTITY.uid, offsets),
                "op": [int(op) for op, *_ in rows],
                "table_name": [table for _, table, *_ in rows],
                "table_schema": [schema for _, _, schema, _ in rows],
                "ts_ms": [ms for *_, ms in rows],
                "source_name": "x",
                "offset": offsets,
                "source_ts_ms": 0,
                "transaction": [
                    {"tx_id": number, "total_events": None, "event_index": index}
                    for index in range(len(rows))
                ],
            }
        )
        cut = draw(st.integers(0, len(rows) - 1))
        if cut:
            piece = EventBatch(batch.records.slice(0, cut), closes_transaction=False)
            writer.append(source_batch(piece, number))
            batch = batch.slice(cut)
        writer.append(source_batch(batch, number))
    return log


def _rows() -> st.SearchStrategy[tuple[Operation, str, str | None, int]]:
    return st.tuples(
        st.sampled_from([Operation.READ, Operation.INSERT]),
        st.sampled_from(["a", "ab", "b"]),
        st.sampled_from([None, "s", "t"]),
        st.integers(0, 9),
    )


def _events(log: MemoryLog) -> list[Event]:
    return list(EventBatch.concat(list(log.reader().read(0))))


def _transactions(log: MemoryLog) -> list[tuple[int, int]]:
    """The first and the last sequence number of each."""
    numbers: dict[int, list[int]] = {}
    for event in _events(log):
        assert event.transaction is not None
        assert event.sequence_number is not None
        numbers.setdefault(event.transaction.tx_id, []).append(event.sequence_number)
    return [(each[0], each[-1]) for each in numbers.values()]


@given(log=logs(), ms=st.integers(0, 10))
def test_time_stands_before_the_first_transaction_that_has_it(log: MemoryLog, ms: int) -> None:
    found = sequence_at(log.reader(), Place(PlaceKind.TIME, ms))
    late = [event.sequence_number for event in _events(log) if event.ts_ms >= ms]
    first = late[0] if late else None
    expected = next(
        (begin - 1 for begin, end in _transactions(log) if first and begin <= first <= end),
        log.head,
    )
    assert found == expected


@given(log=logs(), data=st.data())
def test_position_stands_after_the_event_that_has_it(log: MemoryLog, data: st.DataObject) -> None:
    event = data.draw(st.sampled_from(_events(log)))
    place = Place(PlaceKind.POSITION, event.source.offset)
    assert sequence_at(log.reader(), place) == event.sequence_number


@given(
    log=logs(),
    rows=st.none() | st.integers(1, 12),
    size=st.none() | st.integers(1, 20_000),
)
def test_micro_batches_are_whole_transactions_within_both_limits_or_one_alone(
    log: MemoryLog, rows: int | None, size: int | None
) -> None:
    reader, admission, ends = log.reader(), Admission(rows, size), [0]
    while ends[-1] < log.head:
        runs = reader.segments(ends[-1], log.head)
        ends.append(admission.end(runs, ends[-1], log.head))
        assert ends[-1] > ends[-2]
    spans, borders = _transactions(log), {end for _, end in _transactions(log)}
    assert set(ends[1:]) <= borders
    for after, until in pairwise(ends):
        taken = sum(run.bytes for run in reader.segments(after, until))
        small = (rows is None or until - after <= rows) and (size is None or taken <= size)
        assert small or sum(after < end <= until for _, end in spans) == 1


_COMPARED: dict[type[Any], Callable[[Any, Any], bool]] = {
    spark.EqualTo: operator.eq,
    spark.GreaterThan: operator.gt,
    spark.GreaterThanOrEqual: operator.ge,
    spark.LessThan: operator.lt,
    spark.LessThanOrEqual: operator.le,
    spark.StringStartsWith: str.startswith,
    spark.StringEndsWith: str.endswith,
    spark.StringContains: operator.contains,
    spark.In: lambda value, wanted: value in wanted,
}
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "sequence_number": st.integers(-1, 20),
    "table": st.sampled_from(["a", "ab", "b", ""]),
    "schema": st.sampled_from(["s", "t", "a"]),
    "op": st.sampled_from(["read", "insert", "delete"]),
    "ts": st.integers(-1_000, 10_000).map(lambda us: EPOCH + timedelta(microseconds=us)),
}


@st.composite
def filters(draw: st.DrawFn) -> spark.Filter:
    column = draw(st.sampled_from(sorted(_VALUES)))
    kinds: list[type[Any]] = [spark.IsNull, spark.IsNotNull, spark.In, *list(_COMPARED)[:5]]
    if column in ("table", "schema", "op"):
        kinds += list(_COMPARED)[5:8]
    kind = draw(st.sampled_from(kinds))
    made: spark.Filter
    if kind in (spark.IsNull, spark.IsNotNull):
        made = kind((column,))
    elif kind is spark.In:
        made = spark.In((column,), tuple(draw(st.lists(_VALUES[column], max_size=3))))
    else:
        made = kind((column,), draw(_VALUES[column]))
    return spark.Not(made) if draw(st.booleans()) else made


def _holds(given: Any, event: Event) -> bool | None:
    if isinstance(given, spark.Not):
        inner = _holds(given.child, event)
        return None if inner is None else not inner
    value: Any = {
        "sequence_number": event.sequence_number,
        "table": event.table,
        "schema": event.schema,
        "op": event.op.label,
        "ts": EPOCH + timedelta(milliseconds=event.ts_ms),
    }[given.attribute[0]]
    if isinstance(given, (spark.IsNull, spark.IsNotNull)):
        return (value is None) is isinstance(given, spark.IsNull)
    return None if value is None else _COMPARED[type(given)](value, given.value)


@given(log=logs(), asked=st.lists(filters(), max_size=3), parts=st.integers(1, 5))
def test_pushed_filters_give_exactly_the_rows_of_sql_whatever_is_pruned(
    log: MemoryLog, asked: list[spark.Filter], parts: int
) -> None:
    pushed, left = take(asked)
    assert left == []
    expected = [
        event.sequence_number
        for event in _events(log)
        if all(_holds(each, event) is True for each in asked)
    ]
    assert _planned(log, pushed, parts) == expected
    assert _planned(log, Pushed(), parts) == [*range(1, log.head + 1)]


def _planned(log: MemoryLog, pushed: Pushed, parts: int) -> list[int]:
    reader = log.reader()
    after, until = pushed.bounds(0, log.head)
    if until <= after:
        return []
    spans = list(_spans(reader.segments(after, until), pushed, after, until))
    ranges = _share(spans, parts)
    assert len(ranges) <= parts
    return [
        number
        for share in ranges
        for begin, end in share.spans
        for batch in reader.read(begin, end)
        for number in pushed.rows(batch).column("sequence_number").to_pylist()
    ]


def test_filters_that_cannot_be_decided_exactly_are_handed_back() -> None:
    odd: list[spark.Filter] = [
        spark.EqualTo(("after",), "x"),
        spark.EqualTo(("source", "offset"), "x"),
        spark.EqualTo(("ts",), datetime(2026, 1, 1)),  # noqa: DTZ001 - a time without a zone
        spark.EqualNullSafe(("schema",), None),
        spark.In(("table",), ("a", None)),
        spark.Not(spark.EqualTo(("sequence_number",), 1.5)),
        spark.EqualTo(("sequence_number",), True),
    ]
    pushed, left = take([*odd, spark.EqualTo(("table",), "a")])
    assert left == odd
    assert pushed.filters == (spark.EqualTo(("table",), "a"),)
