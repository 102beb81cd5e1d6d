"""A change as people read it: what happened to which row, and only the columns that differ."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from headwater.event import Event, Operation


class Absent(Enum):
    """Why a value is not there."""

    UNAVAILABLE = "unavailable"  # the source did not send it
    NOTHING = "nothing"  # the image has no such column, or there is no image


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """One column before and after."""

    name: str
    before: Any
    after: Any

    @property
    def differs(self) -> bool:
        """Whether it changed. Types count: 1 is neither 1.0 nor true."""
        return type(self.before) is not type(self.after) or self.before != self.after


@dataclass(frozen=True, slots=True)
class Change:
    """One event, ready to be shown."""

    sequence: int
    ts_ms: int
    op: Operation
    table: str
    key: dict[str, Any] | None
    columns: tuple[ColumnChange, ...]
    tx_id: int | None


def describe(event: Event, *, only_changed: bool) -> Change:
    """The event's columns in the row's order; with `only_changed`, updates show differences."""
    columns = _columns(event)
    if only_changed and event.op is Operation.UPDATE:
        columns = [each for each in columns if each.differs]
    return Change(
        sequence=event.sequence_number,
        ts_ms=event.ts_ms,
        op=event.op,
        table=str(event.table_id),
        key=event.key(),
        columns=tuple(columns),
        tx_id=event.transaction.tx_id if event.transaction else None,
    )


def _columns(event: Event) -> list[ColumnChange]:
    before, after = event.before or {}, event.after or {}
    names = dict.fromkeys((*after, *before, *event.unavailable_columns))
    return [
        ColumnChange(
            name,
            _value(before, name, event.before_unavailable_columns),
            _value(after, name, event.unavailable_columns),
        )
        for name in names
    ]


def _value(image: dict[str, Any], name: str, unavailable: tuple[str, ...]) -> Any:
    if name in image:
        return image[name]
    return Absent.UNAVAILABLE if name in unavailable else Absent.NOTHING
