"""The vocabulary: what a change is, in columns for machines and in rows for people.

- `EventBatch` (batch.py, schema.py, validate.py): changes in Arrow columns, one fixed schema.
- `of_tables` (choose.py): the events of chosen tables.
- `Event` (envelope.py), `RowWrite` (write.py): the row view, and what a sink may do with it.
- `message_image`, `message_fault` (message.py): logical messages, which concern no table.
- `Operation`, `Position`, `TableSchema`, `LogicalType`, and the value rule (value.py).
- `event_ids`, `fingerprint` (identity.py): identity that every replay repeats.

Holds: INV-8 (stable identity), INV-10 (whole keys, partial rows as their own type).
May import: errors.
"""

from headwater.event.batch import EventBatch
from headwater.event.choose import of_tables
from headwater.event.envelope import ENVELOPE_VERSION, Event, Origin, Snapshot, Transaction
from headwater.event.identity import event_ids, fingerprint, uuid_strings
from headwater.event.message import are_messages, message_fault, message_image
from headwater.event.operation import Operation
from headwater.event.position import Position
from headwater.event.schema import EVENT_SCHEMA, EVENT_SCHEMA_VERSION
from headwater.event.table import Column, ForeignKey, TableId, TableSchema
from headwater.event.types import Kind, LogicalType
from headwater.event.validate import validate
from headwater.event.value import decode_row, encode_row, to_json_value, to_python
from headwater.event.write import (
    Delete,
    Merge,
    NoWrite,
    Replace,
    RowWrite,
    Truncate,
    row_write,
)

__all__ = [
    "ENVELOPE_VERSION",
    "EVENT_SCHEMA",
    "EVENT_SCHEMA_VERSION",
    "Column",
    "Delete",
    "Event",
    "EventBatch",
    "ForeignKey",
    "Kind",
    "LogicalType",
    "Merge",
    "NoWrite",
    "Operation",
    "Origin",
    "Position",
    "Replace",
    "RowWrite",
    "Snapshot",
    "TableId",
    "TableSchema",
    "Transaction",
    "Truncate",
    "are_messages",
    "decode_row",
    "encode_row",
    "event_ids",
    "fingerprint",
    "message_fault",
    "message_image",
    "of_tables",
    "row_write",
    "to_json_value",
    "to_python",
    "uuid_strings",
    "validate",
]
