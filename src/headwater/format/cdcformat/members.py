"""Members of JSON objects found over whole columns: where names and values stand in the text.

The text of many rows is looked at as one array of bytes. Quotes tell what is inside a string,
brackets how deep it is; the commas of the outermost level divide the members. No row is parsed, and
a value is never more than its place in the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_QUOTE, _COMMA, _COLON, _OPEN, _CLOSE = b'",:{}'
_PADDING = b" " * 8
_BACKSLASH, _SPACE = 92, 32
_CURLY = 32  # the bit by which square brackets become curly ones
_ROUNDS = 8  # of eight bytes each; what is longer is compared one by one


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Row `r` has the members `first[r]` to `first[r + 1]`; names stand without their quotes.

    `irregular` rows are not compact JSON objects, and nothing may be concluded about them.
    """

    text: npt.NDArray[np.uint8]
    first: Places
    name_start: Places
    name_end: Places
    value_start: Places
    value_end: Places
    irregular: Flags

    def name(self, member: int) -> bytes:
        """The name of one member, as it is written between its quotes."""
        return self.text[self.name_start[member] : self.name_end[member]].tobytes()

    def value(self, member: int) -> bytes:
        """The value of one member, as it is written."""
        return self.text[self.value_start[member] : self.value_end[member]].tobytes()

    def values(self, members: Places) -> pa.Array:
        """The values of these members, as they are written; nothing for -1."""
        if not len(self.value_start):
            return pa.repeat(pa.scalar("", pa.large_string()), len(members))
        starts = self.value_start[members]
        return _cut(self.text, starts, np.where(members < 0, 0, self.value_end[members] - starts))

    def escaped(self, members: Places) -> Flags:
        """Whether a backslash stands in the value of each of these members."""
        slashes = np.flatnonzero(self.text == _BACKSLASH)
        first, last = (
            np.searchsorted(slashes, side[members]) for side in (self.value_start, self.value_end)
        )
        found: Flags = first < last
        return found

    def same_names(self, one: Places, other: Places) -> Flags:
        """For each pair of members, whether their names are written alike."""
        return _same(self.text, (self.name_start, self.name_end), one, other)

    def same_values(self, one: Places, other: Places) -> Flags:
        """For each pair of members, whether their values are written alike."""
        return _same(self.text, (self.value_start, self.value_end), one, other)


def find_members(rows: pa.Array) -> Members:
    """The members of rows that are JSON objects; `rows` has 64-bit offsets and no nulls."""
    text, bounds = _bytes_of(rows)
    at, marks = _structure(text)
    folded = marks | _CURLY
    opens, closes = folded == _OPEN, folded == _CLOSE
    outer = opens | closes | (marks == _COMMA)
    if np.count_nonzero(opens) != len(rows):
        depth = np.cumsum(opens.view(np.int8) - closes.view(np.int8), dtype=np.int32)
        outer &= depth + closes == 1
    dividers = np.flatnonzero(outer)
    begins, ends = opens[dividers], closes[dividers]
    if not _are_objects(text, bounds, at[dividers[begins]], at[dividers[ends]]):
        return _none(text, len(rows))
    return _members(text, at, dividers, (begins, ends))


def _members(
    text: npt.NDArray[np.uint8], at: Places, dividers: Places, sides: tuple[Flags, Flags]
) -> Members:
    """The members between dividers: the brackets and commas of the outermost level."""
    begins, ends = sides
    places = at[dividers]
    full = ~ends
    full[:-1] &= places[1:] > places[:-1] + 1  # an empty object has no member
    heads = np.flatnonzero(full)
    count = np.zeros(len(full) + 1, np.int64)
    np.cumsum(full, out=count[1:])
    first = np.append(count[:-1][begins], len(heads))
    start, end = places[heads] + 1, places[heads + 1]
    # Nothing inside a string is structure: the quote that ends the name is the next mark but one.
    name_end = at[np.minimum(dividers[heads] + 2, len(at) - 1)]
    value = np.minimum(name_end + 2, end)
    odd = (text[start] != _QUOTE) | (text[name_end + 1] != _COLON) | (value >= end)
    odd |= (text[value] <= _SPACE) | (text[end - 1] <= _SPACE)
    irregular = np.zeros(len(first) - 1, np.bool_)
    if odd.any():
        irregular[np.searchsorted(first, np.flatnonzero(odd), side="right") - 1] = True
    return Members(text, first, start + 1, name_end, value, end, irregular)


def _bytes_of(rows: pa.Array) -> tuple[npt.NDArray[np.uint8], Places]:
    """The rows' text in one piece, padded for reads of eight bytes, and where each begins."""
    _, offsets, data = rows.buffers()
    bounds = np.frombuffer(offsets, np.int64)[rows.offset : rows.offset + len(rows) + 1]
    held = b"" if data is None else memoryview(data)[bounds[0] : bounds[-1]]
    return np.frombuffer(b"".join((held, _PADDING)), np.uint8), bounds - bounds[0]


def _structure(text: npt.NDArray[np.uint8]) -> tuple[Places, npt.NDArray[np.uint8]]:
    """Quotes that begin or end a string, and the brackets and commas outside of strings."""
    folded = text | _CURLY
    brackets = (folded == _OPEN) | (folded == _CLOSE)
    at = np.flatnonzero((text == _QUOTE) | (text == _COMMA) | brackets)
    escaped = _escaped(text)
    if len(escaped):
        at = at[~np.isin(at, escaped, assume_unique=True)]
    marks = text[at]
    quotes = marks == _QUOTE
    outside = quotes | (np.cumsum(quotes, dtype=np.int32) & 1 == 0)
    return (at, marks) if outside.all() else (at[outside], marks[outside])


def _escaped(text: npt.NDArray[np.uint8]) -> Places:
    """The places after a backslash that is not itself escaped."""
    slashes = np.flatnonzero(text == _BACKSLASH)
    if not len(slashes):
        return slashes
    begins = np.concatenate([[True], slashes[1:] != slashes[:-1] + 1])
    run = np.maximum.accumulate(np.where(begins, np.arange(len(slashes)), 0))
    active: Places = slashes[(np.arange(len(slashes)) - run) % 2 == 0]
    return active + 1


def _are_objects(
    text: npt.NDArray[np.uint8], bounds: Places, opens: Places, closes: Places
) -> bool:
    """Whether every row is one object, from its first byte to its last."""
    starts, ends = bounds[:-1], bounds[1:] - 1
    return (
        np.array_equal(opens, starts)
        and np.array_equal(closes, ends)
        and bool((text[starts] == _OPEN).all() and (text[ends] == _CLOSE).all())
    )


def _none(text: npt.NDArray[np.uint8], rows: int) -> Members:
    nothing = np.zeros(0, np.int64)
    first, odd = np.zeros(rows + 1, np.int64), np.ones(rows, np.bool_)
    return Members(text, first, nothing, nothing, nothing, nothing, odd)


def _cut(text: npt.NDArray[np.uint8], starts: Places, lengths: Places) -> pa.Array:
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    source = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text[source])]
    return pa.Array.from_buffers(pa.large_string(), len(starts), buffers)


def _same(
    text: npt.NDArray[np.uint8], spans: tuple[Places, Places], one: Places, other: Places
) -> Flags:
    starts, ends = spans
    here, there = starts[one], starts[other]
    lengths = ends[one] - here
    alike: Flags = lengths == ends[other] - there
    words = _words(text)
    left = np.flatnonzero(alike & (lengths > 0))
    for done in range(0, _ROUNDS * 8, 8):
        if not len(left):
            return alike
        unread = (8 - np.minimum(lengths[left] - done, 8)).astype(np.uint64) * np.uint64(8)
        differs = (words[here[left] + done] ^ words[there[left] + done]) << unread != 0
        alike[left[differs]] = False
        left = left[~differs & (lengths[left] > done + 8)]
    for pair in left:
        size, begin, again = lengths[pair], here[pair], there[pair]
        alike[pair] = bool((text[begin : begin + size] == text[again : again + size]).all())
    return alike


def _words(text: npt.NDArray[np.uint8]) -> Any:
    """Eight bytes from each place on, as one number."""
    return np.ndarray((len(text) - 7,), "<u8", buffer=text, strides=(1,))
