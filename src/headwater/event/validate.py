"""The envelope's rules, checked over whole columns. The first broken rule names its event."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.event.batch import EventBatch
from headwater.event.message import are_messages, message_fault
from headwater.event.operation import Operation
from headwater.event.value import decode_row

Rule = tuple[str, pa.Array]


def validate(batch: EventBatch) -> None:
    """Raise `event-invalid` for the first event that breaks a rule; return if none does.

    An update without a before image is valid: that is what a database sends when the key did not
    change and only keys identify rows.
    """
    if len(batch) == 0:
        return
    for reason, broken in _rules(batch):
        if pc.any(broken).as_py():
            _refuse(batch, reason, int(pc.index(broken, True).as_py()))
    fault = message_fault(batch)
    if fault is not None:
        row, reason = fault
        _refuse(batch, reason, row)
    _check_unavailable(batch)


def _rules(batch: EventBatch) -> Iterator[Rule]:
    yield from _identity_rules(batch)
    yield from _image_rules(batch)
    yield from _transaction_rules(batch)


def _identity_rules(batch: EventBatch) -> Iterator[Rule]:
    op = batch.column("op")
    first, last = int(min(Operation)), int(max(Operation))
    yield "op is none of the operations", pc.or_(pc.less(op, first), pc.greater(op, last))
    nameless = pc.equal(batch.column("table_name"), "")
    yield "table is empty", pc.and_not(nameless, are_messages(batch))
    yield "source_name is empty", pc.equal(batch.column("source_name"), "")
    yield "ts is zero or negative", pc.less_equal(batch.column("ts_ms"), 0)


def _image_rules(batch: EventBatch) -> Iterator[Rule]:
    has_before, has_after = batch.column("before").is_valid(), batch.column("after").is_valid()
    no_before, no_after = pc.invert(has_before), pc.invert(has_after)
    insert, delete = _is(batch, Operation.INSERT), _is(batch, Operation.DELETE)
    read, ddl = _is(batch, Operation.READ), _is(batch, Operation.SCHEMA_CHANGE)
    truncate, update = _is(batch, Operation.TRUNCATE), _is(batch, Operation.UPDATE)
    rowless = pc.or_(truncate, ddl)
    key_only = batch.column("before_is_key_only")
    no_lists = pc.and_(
        batch.column("unavailable_columns").is_null(),
        batch.column("before_unavailable_columns").is_null(),
    )
    yield "an insert has no after image", pc.and_(insert, no_after)
    yield "an insert has a before image", pc.and_(insert, has_before)
    yield "an update has no after image", pc.and_(update, no_after)
    yield "a delete has no before image", pc.and_(delete, no_before)
    yield "a delete has an after image", pc.and_(delete, has_after)
    yield "a read or schema change has no after image", pc.and_(pc.or_(read, ddl), no_after)
    yield "a truncate has an image", pc.and_(truncate, pc.or_(has_before, has_after))
    yield (
        "before_is_key_only is set without a before image of an update or delete",
        pc.and_(key_only, pc.or_(no_before, pc.invert(pc.or_(update, delete)))),
    )
    yield (
        "a key-only before image lists unavailable columns",
        pc.and_(key_only, batch.column("before_unavailable_columns").is_valid()),
    )
    yield "a truncate or schema change lists unavailable columns", pc.and_not(rowless, no_lists)


def _transaction_rules(batch: EventBatch) -> Iterator[Rule]:
    transaction = batch.column("transaction")
    total = pc.struct_field(transaction, "total_events")
    index = pc.struct_field(transaction, "event_index")
    yield "event_index is negative", _true(pc.less(index, 0))
    yield "total_events is not positive", _true(pc.less_equal(total, 0))
    yield (
        "event_index is not below total_events",
        _true(pc.greater_equal(index, total)),
    )


def _true(mask: pa.Array) -> pa.Array:
    return mask.fill_null(fill_value=False)


def _is(batch: EventBatch, op: Operation) -> pa.Array:
    return pc.equal(batch.column("op"), int(op))


def _check_unavailable(batch: EventBatch) -> None:
    for lists, images in (
        ("unavailable_columns", "after"),
        ("before_unavailable_columns", "before"),
    ):
        listed = batch.column(lists)
        if listed.null_count == len(batch):
            continue
        for row in pc.indices_nonzero(listed.is_valid()).to_pylist():
            image = batch.column(images)[row].as_py()
            present = set() if image is None else set(decode_row(image))
            if present & set(listed[row].as_py()):
                _refuse(batch, f"a column in {lists} stands in the {images} image too", row)


def _refuse(batch: EventBatch, reason: str, row: int) -> None:
    table = batch.column("table_name")[row].as_py()
    offset = batch.column("offset")[row].as_py()
    raise DataError("event-invalid", reason, where=f"table {table!r}, offset {offset!r}")
