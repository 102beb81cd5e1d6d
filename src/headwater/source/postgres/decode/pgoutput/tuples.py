"""Where each column's text lies, found for many tuples at once.

A tuple is read from the left, and so are all tuples of a relation together: one step per column,
each step a few NumPy calls over all rows. Every step is checked against the message's end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwater.source.postgres.decode.pgoutput.wire import Wire
from headwater.source.postgres.decode.spans import Bytes, Flags, Places

NULL, UNCHANGED, TEXT = ord("n"), ord("u"), ord("t")


@dataclass(frozen=True, slots=True)
class Field:
    """One column of all tuples: each value's kind and where its text begins and ends."""

    kind: Bytes
    start: Places
    end: Places

    def pick(self, rows: Places) -> Field:
        """The same column of some of the tuples."""
        return Field(self.kind[rows], self.start[rows], self.end[rows])

    def unchanged(self) -> Flags:
        """Where the server left out a long value that did not change."""
        return np.equal(self.kind, UNCHANGED)


@dataclass(frozen=True, slots=True)
class Tuples:
    """Tuples of one relation, by column. `after` is the place behind each tuple."""

    fields: tuple[Field, ...]
    after: Places

    def __len__(self) -> int:
        return len(self.after)

    def pick(self, rows: Places) -> Tuples:
        """Some of the tuples."""
        return Tuples(tuple(field.pick(rows) for field in self.fields), self.after[rows])


def read_tuples(wire: Wire, messages: Places, places: Places, columns: int) -> Tuples:
    """Read the tuples that begin at these places of these messages."""
    if len(messages) == 0:  # most buffers have no old tuples; a step per column costs even so
        nothing = Field(np.zeros(0, dtype=np.uint8), places, places)
        return Tuples((nothing,) * columns, places)
    limit = wire.ends[messages]
    wire.refuse(places + 2 > limit, "a tuple has no columns", messages)
    wire.refuse(wire.i16(places) != columns, "a tuple has not its relation's columns", messages)
    place = places + 2
    fields = []
    for _ in range(columns):
        field = _read_field(wire, messages, place, limit)
        fields.append(field)
        place = field.end
    return Tuples(tuple(fields), place)


def _read_field(wire: Wire, messages: Places, place: Places, limit: Places) -> Field:
    wire.refuse(place >= limit, "a tuple ends too early", messages)
    kind = wire.u8(place)
    text = kind == TEXT
    if text.all():
        start, end = _text_bounds(wire, messages, place, limit)
        return Field(kind, start, end)
    known = text | (kind == NULL) | (kind == UNCHANGED)
    wire.refuse(~known, "a value is neither text, null nor left out", messages)
    start, end = place + 1, place + 1
    rows = np.flatnonzero(text)
    start[rows], end[rows] = _text_bounds(wire, messages[rows], place[rows], limit[rows])
    return Field(kind, start, end)


def _text_bounds(
    wire: Wire, messages: Places, place: Places, limit: Places
) -> tuple[Places, Places]:
    start = place + 5
    wire.refuse(start > limit, "a tuple ends too early", messages)
    length = wire.i32(place + 1)
    end = start + length
    wire.refuse((length < 0) | (end > limit), "a value goes beyond its message", messages)
    return start, end


def fill_unchanged(new: Tuples, old: Tuples, new_rows: Places, old_rows: Places) -> None:
    """Take values that the new tuples leave out from the old tuples, where those hold them.

    Tuple `new_rows[i]` is the new state of tuple `old_rows[i]`. Left out means unchanged, so the
    old value is the new one. Fills `new` in place.
    """
    for column, before in zip(new.fields, old.fields, strict=True):
        known = column.unchanged()[new_rows] & (before.kind[old_rows] == TEXT)
        target, source = new_rows[known], old_rows[known]
        column.kind[target] = TEXT
        column.start[target] = before.start[source]
        column.end[target] = before.end[source]
