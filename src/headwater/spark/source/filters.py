"""Spark's filters on events: decided in Arrow, over stored columns, before a row is made for Spark.

A filter is taken whole or handed back: what is taken is not judged again by Spark. A row passes
where the filter is true; what is null is not true, as in SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as spark

from headwater.contract import SegmentInfo
from headwater.event import EventBatch, Operation

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LABELS = pa.array([None, *(op.label for op in Operation)], pa.string())
_COMPARED: dict[type[spark.Filter], Callable[[pa.Array, pa.Scalar], pa.Array]] = {
    spark.EqualTo: pc.equal,
    spark.GreaterThan: pc.greater,
    spark.GreaterThanOrEqual: pc.greater_equal,
    spark.LessThan: pc.less,
    spark.LessThanOrEqual: pc.less_equal,
}
_MATCHED: dict[type[spark.Filter], Callable[..., pa.Array]] = {
    spark.StringStartsWith: pc.starts_with,
    spark.StringEndsWith: pc.ends_with,
    spark.StringContains: pc.match_substring,
}


def _op(batch: EventBatch) -> pa.Array:
    return _LABELS.take(batch.column("op"))


# Spark's name of a column, what it is in a stored batch, and its type.
_COLUMNS: dict[tuple[str, ...], tuple[Callable[[EventBatch], pa.Array], pa.DataType]] = {
    ("sequence_number",): (lambda batch: batch.column("sequence_number"), pa.int64()),
    ("schema",): (lambda batch: batch.column("table_schema"), pa.string()),
    ("table",): (lambda batch: batch.column("table_name"), pa.string()),
    ("op",): (_op, pa.string()),
    ("ts",): (lambda batch: batch.column("ts_ms"), pa.timestamp("us", tz="UTC")),
}


@dataclass(frozen=True, slots=True)
class Pushed:
    """The filters that were taken: all of them must hold."""

    filters: tuple[spark.Filter, ...] = ()

    def rows(self, batch: EventBatch) -> EventBatch:
        """The events that pass."""
        for each in self.filters:
            if len(batch):
                batch = batch.filter(_mask(each, batch))
        return batch

    def bounds(self, after: int, until: int) -> tuple[int, int]:
        """The part of (after, until] that can hold such events."""
        for each in self.filters:
            match each:
                case spark.GreaterThan(("sequence_number",), value):
                    after = max(after, value)
                case spark.GreaterThanOrEqual(("sequence_number",), value):
                    after = max(after, value - 1)
                case spark.LessThan(("sequence_number",), value):
                    until = min(until, value - 1)
                case spark.LessThanOrEqual(("sequence_number",), value):
                    until = min(until, value)
                case spark.EqualTo(("sequence_number",), value):
                    after, until = max(after, value - 1), min(until, value)
                case spark.In(("sequence_number",), values) if values:
                    after, until = max(after, min(values) - 1), min(until, max(values))
        return after, until

    def may_hold(self, run: SegmentInfo) -> bool:
        """Whether a stored run can hold such events, by its newest time."""
        return all(
            run.max_ts_ms * 1000 >= _microseconds(each.value)
            for each in self.filters
            if isinstance(each, (spark.GreaterThan, spark.GreaterThanOrEqual, spark.EqualTo))
            and each.attribute == ("ts",)
        )


def take(filters: Iterable[spark.Filter]) -> tuple[Pushed, list[spark.Filter]]:
    """What is taken of the filters, and what is left to Spark."""
    taken: list[spark.Filter] = []
    left: list[spark.Filter] = []
    for each in filters:
        (taken if _understood(each) else left).append(each)
    return Pushed(tuple(taken)), left


def _understood(given: spark.Filter) -> bool:
    match given:
        case spark.Not(child):
            return _understood(child)
        case spark.IsNull(column) | spark.IsNotNull(column):
            return column in _COLUMNS
        case spark.In(column, values):
            return all(_fits(column, value) for value in values)
        case spark.StringStartsWith() | spark.StringEndsWith() | spark.StringContains():
            return _fits(given.attribute, given.value) and _kind(given.attribute) == pa.string()
        case _:
            return type(given) in _COMPARED and _fits(given.attribute, given.value)  # type: ignore[attr-defined]


def _fits(column: tuple[str, ...], value: Any) -> bool:
    """Whether the value is one that the column can be compared with, exactly."""
    if column not in _COLUMNS:
        return False
    kind = _kind(column)
    if kind == pa.int64():
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == pa.string():
        return isinstance(value, str)
    return isinstance(value, datetime) and value.tzinfo is not None


def _kind(column: tuple[str, ...]) -> pa.DataType:
    return _COLUMNS[column][1]


def _mask(given: spark.Filter, batch: EventBatch) -> pa.Array:
    match given:
        case spark.Not(child):
            return pc.invert(_mask(child, batch))
        case spark.IsNull(column):
            return pc.is_null(_values(column, batch))
        case spark.IsNotNull(column):
            return pc.is_valid(_values(column, batch))
        case spark.In(column, wanted):
            return _any_of(_values(column, batch), [_plain(each) for each in wanted])
        case spark.StringStartsWith() | spark.StringEndsWith() | spark.StringContains():
            return _MATCHED[type(given)](_values(given.attribute, batch), pattern=given.value)
        case _:
            column, value = given.attribute, given.value  # type: ignore[attr-defined]
            return _COMPARED[type(given)](_values(column, batch), pa.scalar(_plain(value)))


def _any_of(values: pa.Array, wanted: list[Any]) -> pa.Array:
    """True or false, and null where the value is null: `NOT IN` must not pass it."""
    found = pc.is_in(values, pa.array(wanted, values.type))
    return pc.if_else(pc.is_valid(values), found, pa.scalar(None, pa.bool_()))


def _values(column: tuple[str, ...], batch: EventBatch) -> pa.Array:
    values, kind = _COLUMNS[column]
    stored = values(batch)
    return pc.multiply(stored, 1000) if pa.types.is_timestamp(kind) else stored


def _plain(value: Any) -> Any:
    return _microseconds(value) if isinstance(value, datetime) else value


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
