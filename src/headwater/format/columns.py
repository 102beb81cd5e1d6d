"""Decoded records to an EventBatch, and the checks that every form of the envelope shares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import NoneType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.event import (
    ENVELOPE_VERSION,
    EVENT_SCHEMA,
    EventBatch,
    Operation,
    message_fault,
)

UINT31 = (0, 2**31 - 1)
UINT32 = (0, 2**32 - 1)
UINT63 = (0, 2**63 - 1)
_OPERATIONS = (int(min(Operation)), int(max(Operation)))

_FAILURES = (ValueError, TypeError, OverflowError)  # what pa.array raises for a value it refuses
_FILLER = {pa.string(): "", pa.int64(): 0, pa.bool_(): False}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeColumns:
    """The envelope's fields of many records, still as Python values, one list per field."""

    before: Sequence[str | None]
    after: Sequence[str | None]
    op: Sequence[Any]
    source_name: Sequence[Any]
    offset: Sequence[Any]
    source_ts_ms: Sequence[Any]
    ts_ms: Sequence[Any]
    schema: Sequence[Any]
    table: Sequence[Any]
    primary_key: Sequence[Any]
    snapshot: Sequence[tuple[Any, Any, Any] | None]
    transaction: Sequence[tuple[Any, Any, Any] | None]
    envelope_version: Sequence[Any]
    before_is_key_only: Sequence[Any]
    unavailable_columns: Sequence[Any]
    before_unavailable_columns: Sequence[Any]

    def to_batch(self) -> EventBatch:
        """The batch; the first value that cannot stand in its column is a DataError."""
        self._check_version()
        if not self.op:
            return EventBatch.concat([])
        batch = EventBatch.from_columns(
            {
                "op": self._operations(),
                "source_name": _texts("source_name", self.source_name),
                "offset": _texts("offset", self.offset),
                "source_ts_ms": _integers("timestamp", self.source_ts_ms),
                "ts_ms": _integers("ts", self.ts_ms),
                "table_schema": _values("schema", self.schema, pa.string(), {str, NoneType}),
                "table_name": _texts("table", self.table),
                "primary_key": _names("primary_key", self),
                "before": _values("before", self.before, pa.string(), {str, NoneType}),
                "after": _values("after", self.after, pa.string(), {str, NoneType}),
                "before_is_key_only": _values(
                    "before_is_key_only", self.before_is_key_only, pa.bool_(), {bool}
                ),
                "unavailable_columns": _names("unavailable_columns", self),
                "before_unavailable_columns": _names("before_unavailable_columns", self),
                "snapshot": _struct("snapshot", self.snapshot),
                "transaction": _struct("transaction", list(map(_known_total, self.transaction))),
            }
        )
        _check_messages(batch, bad_record)
        return batch

    def _check_version(self) -> None:
        for index, version in enumerate(self.envelope_version):
            if type(version) is not int or version != ENVELOPE_VERSION:
                raise bad_record(index, f"envelope_version is {version!r}, not {ENVELOPE_VERSION}")

    def _operations(self) -> pa.Array:
        first, last = _OPERATIONS
        for index, op in enumerate(self.op):
            if type(op) is not int or not first <= op <= last:
                raise bad_record(index, "op is none of the operations")
        return pa.array(self.op, pa.int8())


def bad_record(index: int, reason: str) -> DataError:
    """The error for a record that cannot be read."""
    return DataError("format-bad-record", reason, where=f"record {index}")


def unwritable(index: int, reason: str) -> DataError:
    """The error for an event that the carrier cannot hold."""
    return DataError("format-unwritable", reason, where=f"record {index}")


def check_ranges(
    batch: EventBatch,
    ranges: Mapping[str, tuple[int, int]],
    error: Callable[[int, str], DataError] = unwritable,
) -> None:
    """Refuse numbers that the carrier has no room for; `transaction.tx_id` names a struct's part.

    Two things are checked for every form: that the op is one, for a number without a name cannot be
    written at all; and that messages hold what they may, for no form has a place for more.
    """
    for path, (low, high) in {"op": _OPERATIONS, **ranges}.items():
        name, _, part = path.partition(".")
        values = batch.column(name)
        if part:
            values = pc.struct_field(values, part)
        outside = pc.or_(pc.less(values, low), pc.greater(values, high))
        row = pc.index(outside, value=True).as_py()
        if row >= 0:
            raise error(row, f"{path} is {values[row]}, outside {low}..{high}")
    _check_messages(batch, error)


def _check_messages(batch: EventBatch, error: Callable[[int, str], DataError]) -> None:
    fault = message_fault(batch)
    if fault is not None:
        raise error(*fault)


def check_names(batch: EventBatch) -> None:
    """Refuse a list with a null in it: a carrier of names would write an empty name."""
    for name in ("primary_key", "unavailable_columns", "before_unavailable_columns"):
        lists = batch.column(name)
        nameless = pc.index(lists.flatten().is_valid(), value=False).as_py()
        if nameless >= 0:
            row = pc.list_parent_indices(lists)[nameless].as_py()
            raise unwritable(row, f"{name} holds a null")


def _texts(name: str, values: Sequence[Any]) -> pa.Array:
    return _values(name, values, pa.string(), {str})


def _integers(name: str, values: Sequence[Any]) -> pa.Array:
    return _values(name, values, pa.int64(), {int})


def _names(name: str, columns: EnvelopeColumns) -> pa.Array:
    """A column of name lists; an empty list says the same as none."""
    lists: Sequence[Any] = getattr(columns, name)
    _check_kinds(name, lists, {list, NoneType})
    if set(map(type, chain.from_iterable(filter(None, lists)))) - {str}:
        row = next(i for i, names in enumerate(lists) if set(map(type, names or ())) - {str})
        raise bad_record(row, f"{name} is not a list of strings")
    return _array(name, [names or None for names in lists], pa.list_(pa.string()))


def _known_total(block: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """0 total_events is how some carriers say that the number is not known."""
    if block is None or type(block[1]) is not int or block[1] != 0:
        return block
    return block[0], None, block[2]


def _struct(name: str, values: Sequence[tuple[Any, ...] | None]) -> pa.Array:
    kind = EVENT_SCHEMA.field(name).type
    absent = [value is None for value in values]
    if all(absent):
        return pa.nulls(len(values), kind)
    parts = []
    for place, field in enumerate(kind):
        # Fields that may not be null get a filler where the whole struct is null.
        filler = None if field.nullable else _FILLER[field.type]
        items = [filler if value is None else value[place] for value in values]
        allowed = {type(_FILLER[field.type])} | ({NoneType} if field.nullable else set())
        parts.append(_values(f"{name}.{field.name}", items, field.type, allowed))
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=pa.array(absent))


def _values(name: str, values: Sequence[Any], kind: pa.DataType, allowed: set[type]) -> pa.Array:
    _check_kinds(name, values, allowed)
    return _array(name, values, kind)


def _check_kinds(name: str, values: Iterable[Any], allowed: set[type]) -> None:
    # Exact types: a bool is an int to Python, and 1.0 an integer to Arrow, but not to the envelope.
    if set(map(type, values)) - allowed:
        row, value = next((i, v) for i, v in enumerate(values) if type(v) not in allowed)
        raise bad_record(row, f"{name} is a {type(value).__name__}")


def _array(name: str, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except _FAILURES as exc:
        raise _culprit(name, values, kind) from exc


def _culprit(name: str, values: Sequence[Any], kind: pa.DataType) -> DataError:
    for row, value in enumerate(values):
        try:
            pa.scalar(value, kind)
        except _FAILURES as exc:
            return bad_record(row, f"{name} cannot be held: {exc}")
    return bad_record(0, f"{name} cannot be held in {kind}")
