"""Families: which rows of a transaction belong together, and which of them was the root.

A row belongs to the row that its foreign key refers to, if both changed in one transaction. The
root of a family is the change that no other caused. What refers is caused by what it refers to; but
where a row is only updated while rows that refer to it come or go, they caused the update: it is
their number that it counts. Where that leaves several, the root is the one row that refers to no
other, and else the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import SchemaHistory
from headwater.event import EventBatch, ForeignKey, Operation
from headwater.format.cdcformat.derive import Derived
from headwater.format.cdcformat.groups import Assembly, groups
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.text import TEXT, join

_INSERT, _UPDATE = int(Operation.INSERT), int(Operation.UPDATE)
_SEPARATOR = "\n"  # stands in no JSON text that is compact


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """`root` is the place of each event's root, its own where it follows none.

    `gained` tells the rows to which a new row refers.
    """

    root: Places
    gained: Flags


def transactions(batch: EventBatch) -> Places:
    """A number for each event, the same for those of one transaction; -1 for no mutation."""
    column = batch.column("transaction")
    ids = pc.struct_field(column, "tx_id").fill_null(0).to_numpy()
    indexes = pc.struct_field(column, "event_index").fill_null(0).to_numpy()
    begins = np.ones(len(batch), np.bool_)
    begins[1:] = (ids[1:] != ids[:-1]) | (indexes[1:] <= indexes[:-1])
    mutates = pc.and_(column.is_valid(), pc.less(batch.column("op"), int(Operation.READ)))
    return np.where(mutates.to_numpy(zero_copy_only=False), np.cumsum(begins), -1)


def may_relate(batch: EventBatch, history: SchemaHistory) -> bool:
    """Whether a table of these events refers to another of them: most batches need no more."""
    names = batch.column("table_name").unique()
    keys = (key for _, key in _foreign_keys(batch, history))
    return any(pc.index(names, key.references.name).as_py() >= 0 for key in keys)


def families(
    batch: EventBatch, numbers: Places, derived: Derived, history: SchemaHistory
) -> Families:
    """The families among these events; `numbers` are those of their transactions."""
    parent, child = _references(batch, numbers, derived, history)
    ops = batch.column("op").to_numpy()
    label = _components(len(batch), parent, child)
    counted = (ops[parent] == _UPDATE) & (ops[child] != _UPDATE)
    root = np.arange(len(batch))
    for caused in (child, np.where(counted, parent, child)):
        free = np.ones(len(batch), np.bool_)
        free[caused] = False
        sole = free & (np.bincount(label[free], minlength=len(batch)) == 1)[label]
        root[label[sole]] = np.flatnonzero(sole)
    gained = np.zeros(len(batch), np.bool_)
    gained[parent[ops[child] == _INSERT]] = True
    return Families(root[label], gained)


def _components(count: int, one: Places, other: Places) -> Places:
    """The first place of each event's family: labels sink along the references."""
    label = np.arange(count)
    while True:
        low = np.minimum(label[one], label[other])
        sunk = label.copy()
        np.minimum.at(sunk, one, low)
        np.minimum.at(sunk, other, low)
        sunk = sunk[sunk]
        if np.array_equal(sunk, label):
            return label
        label = sunk


def _references(
    batch: EventBatch, numbers: Places, derived: Derived, history: SchemaHistory
) -> tuple[Places, Places]:
    """Pairs of events: the row that is referred to, and the row that refers."""
    pairs = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    where = {table: code for code, table in enumerate(derived.tables)}
    shown = np.where(derived.images.after >= 0, derived.images.after, derived.images.before)
    for children, key in _foreign_keys(batch, history):
        parents = np.flatnonzero(derived.table == where.get(key.references, -1))
        if not len(parents):
            continue
        known = _keys(derived, numbers, parents, shown, key.referenced_columns)
        for rows in (shown, derived.images.before):
            wanted = _keys(derived, numbers, children, rows, key.columns)
            found = pc.index_in(wanted, value_set=known.drop_null())
            hit = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
            held = parents[known.is_valid().to_numpy(zero_copy_only=False)]
            pairs.append((held[found.drop_null().to_numpy()], children[hit]))
    parent, child = (np.concatenate(side) for side in zip(*pairs, strict=True))
    others = parent != child
    return parent[others], child[others]


def _foreign_keys(batch: EventBatch, history: SchemaHistory) -> Iterator[tuple[Places, ForeignKey]]:
    """The foreign keys of the events' tables, and the events that have each."""
    for (schema_id,), events in groups(batch.column("schema_id").to_numpy()):
        if schema_id:
            for key in history.schema(schema_id).foreign_keys:
                yield events, key


def _keys(
    derived: Derived, numbers: Places, events: Places, rows: Places, names: tuple[str, ...]
) -> pa.Array:
    """Transaction and values of these columns as one text; null where a value is not known."""
    images = derived.images
    keys = Assembly(len(events), TEXT)
    held = np.flatnonzero((rows[events] >= 0) & (numbers[events] >= 0))
    for (layout,), chosen in groups(images.layout[rows[events[held]]]):
        columns = images.columns[layout]
        if not names or not columns.keys() >= set(names):
            continue
        places = held[chosen]
        values = [images.values(rows[events[places]], columns[name]) for name in names]
        parts = [part for value in values for part in (_SEPARATOR, value)]
        text = join(pa.array(numbers[events[places]]), *parts)
        for value in values:
            text = pc.if_else(pc.equal(value, "null"), None, text)
        keys.put(places, text)
    return keys.column()
