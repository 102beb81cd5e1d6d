"""Logical messages: what an application said in its transaction, beside the rows that it changed.

A message concerns no table. It has no row and no key, its table is the empty name, and `after` is
what was said: `{"prefix": …, "content": …}`, the content in base64.
"""

from __future__ import annotations

from binascii import Error as Base64Error
from binascii import a2b_base64

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import DataError
from headwater.event.batch import EventBatch
from headwater.event.operation import Operation
from headwater.event.value import decode_row, encode_row

PREFIX, CONTENT = "prefix", "content"

_EMPTY = (
    *("table_schema", "primary_key", "before", "snapshot"),
    *("unavailable_columns", "before_unavailable_columns"),
)


def message_image(prefix: str, content: bytes) -> str:
    """What stands in `after` of a message."""
    return encode_row({PREFIX: prefix, CONTENT: content})


def are_messages(batch: EventBatch) -> pa.Array:
    """Which events are messages."""
    return pc.equal(batch.column("op"), int(Operation.MESSAGE))


def message_fault(batch: EventBatch) -> tuple[int, str] | None:
    """The first message that holds what none may, and why it may not; None if there is none."""
    messages = are_messages(batch)
    if not pc.any(messages, min_count=0).as_py():
        return None
    faults = (_fault(batch, row) for row in pc.indices_nonzero(messages).to_pylist())
    return next((fault for fault in faults if fault is not None), None)


def _fault(batch: EventBatch, row: int) -> tuple[int, str] | None:
    held = [name for name in _EMPTY if batch.column(name)[row].is_valid]
    held += [name for name in ("table_name", "schema_id") if batch.column(name)[row].as_py()]
    if held:
        return row, f"a message concerns no table and no row, and has {', '.join(held)}"
    if batch.column("before_is_key_only")[row].as_py():
        return row, "a message has no key"
    after = batch.column("after")[row].as_py()
    return None if after is not None and _is_said(after) else (row, _UNSAID)


_UNSAID = "a message has in after a prefix, which is text, and a content in base64; nothing else"


def _is_said(after: str) -> bool:
    try:
        said = decode_row(after)
        if said.keys() != {PREFIX, CONTENT} or type(said[PREFIX]) is not str:
            return False
        a2b_base64(said[CONTENT], strict_mode=True)
    except (DataError, Base64Error, TypeError, ValueError):
        return False
    return True
