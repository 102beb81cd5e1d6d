"""What a sink may do with an event. A partial row is another type: it cannot be written whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from headwater.event.envelope import Event
from headwater.event.operation import Operation

Key = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Replace:
    """Write the whole row. `moved_from` is the key it had, where the change altered the key."""

    key: Key | None
    row: dict[str, Any]
    moved_from: Key | None = None


@dataclass(frozen=True, slots=True)
class Merge:
    """Write only `columns` of an existing row; the source did not send `unavailable` (INV-10)."""

    key: Key
    columns: dict[str, Any]
    unavailable: tuple[str, ...]
    moved_from: Key | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the row with this key."""

    key: Key


@dataclass(frozen=True, slots=True)
class Truncate:
    """Remove every row of the table."""


@dataclass(frozen=True, slots=True)
class NoWrite:
    """Nothing that may be written: the reason says why."""

    reason: str


RowWrite = Replace | Merge | Delete | Truncate | NoWrite


def row_write(event: Event) -> RowWrite:
    """Decide what the event allows; what is incomplete is never written whole (INV-10)."""
    match event.op:
        case Operation.TRUNCATE:
            return Truncate()
        case Operation.SCHEMA_CHANGE:
            return NoWrite("schema_change")
        case Operation.MESSAGE:
            return NoWrite("message")
        case Operation.DELETE:
            key = event.key()
            return NoWrite("missing_primary_key") if key is None else Delete(key)
        case Operation.INSERT | Operation.UPDATE | Operation.READ:
            return _row(event)
        case unreachable:
            assert_never(unreachable)


def _row(event: Event) -> RowWrite:
    if event.after is None:
        return NoWrite("missing_payload")
    key = event.key()
    old_key = event.old_key() if event.op is Operation.UPDATE else None
    moved_from = old_key if old_key is not None and old_key != key else None
    if not event.unavailable_columns:
        return Replace(key, event.after, moved_from)
    if key is None:
        return NoWrite("missing_primary_key")
    return Merge(key, event.after, event.unavailable_columns, moved_from)
