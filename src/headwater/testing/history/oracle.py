"""What tables of each mode should hold, told event by event in plain Python."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from headwater.event import Event, Operation, encode_row

Key = str
Image = dict[str, Any]


@dataclass(slots=True)
class Marked:
    """A row that may be gone, and its last change."""

    row: Image
    sequence: int
    deleted_at: int | None = None


@dataclass(slots=True)
class Version:
    """A row as it was from one change to another, both by sequence number and time.

    The time of a change is its commit time, but never before what was told of the row before it.
    """

    row: Image
    begin: tuple[int, int]
    end: tuple[int, int] | None = None


@dataclass(slots=True)
class Oracle:
    """Every mode at once. `shapes` has the columns by schema id, if they were not always these."""

    names: tuple[str, ...]
    shapes: Mapping[int, Collection[str]] = field(default_factory=dict)
    rows: dict[Key, Image] = field(default_factory=dict)
    marked: dict[Key, Marked] = field(default_factory=dict)
    versions: list[Version] = field(default_factory=list)
    log: list[Event] = field(default_factory=list)
    _open: dict[Key, Version] = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        """Take one event; they come in order and once."""
        self.log.append(event)
        if event.op is Operation.TRUNCATE:
            for key in list(self.rows):
                self._goes(key, event)
        elif event.op is Operation.DELETE:
            self._goes(_key(event.key()), event)
        else:
            key, old = _key(event.key()), _key(event.old_key() or event.key())
            known = self.rows[old] if event.unavailable_columns else {}
            if old != key:
                self._goes(old, event)
            self._stands(key, known | (event.after or {}), event)

    def _goes(self, key: Key, event: Event) -> None:
        del self.rows[key]
        gone = self.marked[key]
        gone.sequence, gone.deleted_at = event.sequence_number, event.source.timestamp_ms
        self._ends(key, event)
        del self._open[key]

    def _stands(self, key: Key, row: Image, event: Event) -> None:
        self.rows[key] = row
        self.marked[key] = Marked(row, event.sequence_number)
        self._open[key] = Version(row, self._ends(key, event))
        self.versions.append(self._open[key])

    def _ends(self, key: Key, event: Event) -> tuple[int, int]:
        """When what stands at the key ends, if anything does; clocks may have run back since."""
        sequence, at_ms = _moment(event)
        if key not in self._open:
            return sequence, at_ms
        stood = self._open[key]
        stood.end = sequence, max(at_ms, stood.begin[1])
        return stood.end

    def mirror(self) -> list[tuple[Any, ...]]:
        """The rows that are."""
        return [self._values(row) for row in self.rows.values()]

    def soft_delete(self) -> list[tuple[Any, ...]]:
        """The rows that are or were: sequence number, whether gone, and since when."""
        return [
            (*self._values(each.row), each.sequence, each.deleted_at is not None, each.deleted_at)
            for each in self.marked.values()
        ]

    def scd2(self) -> list[tuple[Any, ...]]:
        """The versions: begin, end, and whether it is current."""
        return [
            (*self._values(each.row), *each.begin, *(each.end or (None, None)), each.end is None)
            for each in self.versions
        ]

    def append_log(self) -> list[tuple[Any, ...]]:
        """The events: sequence number, operation, commit time and what was not sent."""
        return [
            (*self._values(_shown(event)), *_moment(event), event.op.label, self._unsent(event))
            for event in self.log
        ]

    def _values(self, row: Image) -> tuple[Any, ...]:
        return tuple(row.get(name) for name in self.names)

    def _unsent(self, event: Event) -> list[str]:
        return sorted(set(self.shapes.get(event.schema_id, self.names)) - set(_shown(event)))


def _shown(event: Event) -> Image:
    return (event.before if event.op is Operation.DELETE else event.after) or {}


def _moment(event: Event) -> tuple[int, int]:
    return event.sequence_number, event.source.timestamp_ms


def _key(key: Image | None) -> Key:
    assert key is not None  # noqa: S101 - a history has events of tables with keys only
    return encode_row(key)
