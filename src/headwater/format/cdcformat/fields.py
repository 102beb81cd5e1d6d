"""Which fields a change touched, and their values on both sides, in column order.

An insert or a delete touches every column that it has. An update touches what is not the same on
both sides; a column that the source did not send again is not touched. Where the row before is not
whole, what it lacks may have changed: those fields are listed, but no values are given.

Events whose rows have the same columns are worked out together.
"""

from __future__ import annotations

from dataclasses import dataclass
from json.encoder import encode_basestring

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation
from headwater.format.cdcformat.groups import Assembly, groups
from headwater.format.cdcformat.images import Images, Names
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.delta import same
from headwater.format.jsontext import dumps, loads
from headwater.format.text import TEXT, join, string_list

_NOTHING = pa.scalar("[]", TEXT)


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """For each event the JSON list of its changed fields, and their values where they are known."""

    fields: pa.Array
    values: pa.Array


def changes(batch: EventBatch, images: Images, *, valued: bool = True) -> Changes:
    """What the events changed; where nobody wants to know the values, they are all null."""
    fields, values = Assembly(len(batch), TEXT), Assembly(len(batch), TEXT)
    update = pc.equal(batch.column("op"), int(Operation.UPDATE)).to_numpy(zero_copy_only=False)
    both = update & (images.before >= 0) & (images.after >= 0)
    whole = _whole(batch)
    _put_all_columns(images, np.flatnonzero(~both), fields)
    pairs = np.flatnonzero(both)
    hidden, lists = _hidden(batch)
    layouts = (images.layout[side[pairs]] for side in (images.before, images.after))
    for (old, new, unsent), chosen in groups(*layouts, hidden[pairs]):
        events = pairs[chosen]
        pair = _Pair.of(images, images.layouts[old], images.layouts[new], lists[unsent])
        touched = pair.touched(images.before[events], images.after[events])
        fields.put(events, pair.fields(touched))
        if not valued:
            continue
        told = np.flatnonzero(whole[events])
        before, after = images.before[events[told]], images.after[events[told]]
        values.put(events[told], pair.values(touched[told], before, after))
    return Changes(fields.column(), values.column())


def _whole(batch: EventBatch) -> Flags:
    lists, key_only = batch.column("before_unavailable_columns"), batch.column("before_is_key_only")
    found: Flags = pc.and_not(lists.is_null(), key_only).to_numpy(zero_copy_only=False)
    return found


def _hidden(batch: EventBatch) -> tuple[Places, list[frozenset[str]]]:
    """The columns that were not sent again, as codes and what they stand for."""
    lists = batch.column("unavailable_columns")
    if lists.null_count == len(lists):
        return np.zeros(len(lists), np.int64), [frozenset()]
    encoded = string_list(lists).dictionary_encode("encode")
    known = [frozenset(loads(text) if text else ()) for text in encoded.dictionary.to_pylist()]
    return encoded.indices.to_numpy().astype(np.int64), known


def _put_all_columns(images: Images, events: Places, fields: Assembly) -> None:
    shown = np.where(images.after[events] >= 0, images.after[events], images.before[events])
    layout = np.where(shown >= 0, images.layout[shown], -1) if len(images.layout) else shown
    for (found,), chosen in groups(layout):
        text = _NOTHING if found < 0 else pa.scalar(dumps(list(images.layouts[found])), TEXT)
        fields.put(events[chosen], text)


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Updates whose rows have one layout before and one after.

    `old` and `new` are the places of each name in the rows, -1 where a row lacks it.
    """

    images: Images
    names: Names
    old: Places
    new: Places

    @classmethod
    def of(cls, images: Images, before: Names, after: Names, hidden: frozenset[str]) -> _Pair:
        held = set(after) | hidden
        names = (*after, *(name for name in before if name not in held))
        was = {name: at for at, name in enumerate(before)}
        old = np.array([was.get(name, -1) for name in names], np.int64)
        new = np.where(np.arange(len(names)) < len(after), np.arange(len(names)), -1)
        return cls(images, names, old, new)

    def touched(self, before: Places, after: Places) -> Flags:
        """For each event and name, whether it is not the same on both sides."""
        touched = np.ones((len(before), len(self.names)), np.bool_)
        common = np.flatnonzero((self.old >= 0) & (self.new >= 0))
        one = self.images.member(before[:, None], self.old[common])
        other = self.images.member(after[:, None], self.new[common])
        alike = self.images.members.same_values(one.ravel(), other.ravel())
        self._look_closer(alike, one.ravel(), other.ravel())
        touched[:, common] = ~alike.reshape(one.shape)
        return touched

    def _look_closer(self, alike: Flags, one: Places, other: Places) -> None:
        """Lists, objects and escapes can be written in more than one way."""
        members = self.images.members
        differ = np.flatnonzero(~alike)
        begins = members.text[members.value_start[one[differ]]]
        odd = (begins == ord("{")) | (begins == ord("["))
        odd |= members.escaped(one[differ]) | members.escaped(other[differ])
        for pair in differ[odd]:
            old, new = members.value(one[pair]), members.value(other[pair])
            alike[pair] = same(loads(str(old, "utf-8")), loads(str(new, "utf-8")))

    def fields(self, touched: Flags) -> pa.Array:
        """The lists of names; few lists serve many events."""
        if not self.names:
            return pa.repeat(_NOTHING, len(touched))
        packed = np.ascontiguousarray(np.packbits(touched, axis=1))
        rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
        _, first, codes = np.unique(rows, return_index=True, return_inverse=True)
        lists = [dumps([self.names[at] for at in np.flatnonzero(touched[row])]) for row in first]
        return pc.take(pa.array(lists, TEXT), pa.array(codes))

    def values(self, touched: Flags, before: Places, after: Places) -> pa.Array:
        """Objects of the touched fields; a side that lacks a field says nothing of it."""
        events, names = np.nonzero(touched)
        counts = np.bincount(events, minlength=len(touched))
        heads = [
            f'{encode_basestring(name)}:{{"{"after" if old < 0 else "before"}":'
            for name, old in zip(self.names, self.old, strict=True)
        ]
        two_sides = ((self.old >= 0) & (self.new >= 0)).astype(np.int64)
        members = join(
            pc.take(pa.array(heads, TEXT), pa.array(names)),
            self._side(before[events], self.old[names]),
            pc.take(pa.array(["", ',"after":'], TEXT), pa.array(two_sides[names])),
            self._side(after[events], self.new[names]),
            "}",
        )
        ends = np.concatenate([[0], np.cumsum(counts)])
        lists = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), members)
        return join("{", pc.binary_join(lists, pa.scalar(",", TEXT)), "}")

    def _side(self, images: Places, columns: Places) -> pa.Array:
        members = np.where(columns < 0, -1, self.images.member(images, columns))
        return self.images.members.values(members)
