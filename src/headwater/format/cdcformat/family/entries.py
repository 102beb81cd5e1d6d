"""Entries: what a root's event lists. Each entity of a family once, however often it changed.

Rows are folded piece by piece, and a fold of folds is the fold of the whole. So a family may be
larger than memory where its entities, or as many of them as are listed, are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch
from headwater.format.cdcformat.derive import entity_ids
from headwater.format.cdcformat.entities import Entity
from headwater.format.cdcformat.fields import changes
from headwater.format.cdcformat.images import Images
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.jsontext import dumps, loads
from headwater.format.text import TEXT, join

ENTRIES = pa.schema(
    [
        ("root", pa.int64()),  # the root's place
        ("root_op", pa.int8()),
        ("own", pa.bool_()),  # whether it is the root's own entity
        ("first", pa.int64()),  # the places of its first and last change
        ("last", pa.int64()),
        ("op", pa.int8()),  # of its last change
        ("gained", pa.bool_()),  # whether a new row referred to it then
        ("table", pa.int32()),
        ("id", TEXT),  # a JSON string
        ("fields", TEXT),  # the JSON list of all that changed
    ]
)

_MOST_BYTES = 1 << 30  # of one event's list: a column of Arrow ends at 2 GiB
_ENTRY_BYTES = 96  # of an entry, beside its names


@dataclass(frozen=True, slots=True, eq=False)
class Kin:
    """Events by their places, with the place and the operation of each one's root."""

    place: Places
    root: Places
    root_op: npt.NDArray[np.int8]
    gained: Flags


def entries_of(
    batch: EventBatch, images: Images, table: Places, entities: Sequence[Entity], kin: Kin
) -> pa.RecordBatch:
    """An entry for each event; without those that nothing can be listed by, but for roots."""
    ids = entity_ids(batch, images, table, entities)
    own = kin.root == kin.place
    columns: dict[str, Any] = {
        "root": kin.root,
        "root_op": kin.root_op,
        "own": own,
        "first": kin.place,
        "last": kin.place,
        "op": batch.column("op"),
        "gained": kin.gained,
        "table": table.astype(np.int32),
        "id": ids,
        "fields": changes(batch, images, valued=False).fields,
    }
    entries = pa.record_batch([columns[name] for name in ENTRIES.names], schema=ENTRIES)
    if not ids.null_count:
        return entries
    return entries.filter(pc.or_(ids.is_valid(), pa.array(own)))


def fold(entries: pa.RecordBatch, limit: int | None = None) -> pa.RecordBatch:
    """One entry for each entity of each family; of one entity, later entries stand later.

    With a limit, there is no more of a family than `choose` needs to know that it is beyond.
    """
    return _limited(_folded(entries), limit)


def _folded(entries: pa.RecordBatch) -> pa.RecordBatch:
    codes, count = _codes(entries)
    if count == len(entries):
        return entries
    rows = np.arange(len(entries))
    first, last = np.zeros(count, np.int64), np.zeros(count, np.int64)
    first[codes[::-1]] = rows[::-1]
    last[codes] = rows
    folded = {name: entries.column(name).take(pa.array(last)) for name in ENTRIES.names}
    own = _flags(entries, "own")
    folded["own"] = pa.array(np.bincount(codes[own], minlength=count) > 0)
    folded["first"] = entries.column("first").take(pa.array(first))
    folded["fields"] = _merged(entries.column("fields"), codes, last)
    return pa.record_batch(list(folded.values()), schema=ENTRIES)


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Entries that are listed, by root and then by their last change.

    `roots` are the entries of the roots' own entities, and `cut` tells the roots whose list is not
    complete; both for the roots that list something.
    """

    listed: pa.RecordBatch
    roots: pa.RecordBatch
    cut: Flags


def choose(folded: pa.RecordBatch, limit: int | None, entities: Sequence[Entity]) -> Chosen:
    """What is listed: all, or the entities that changed first."""
    own = _flags(folded, "own")
    others = folded.filter(pa.array(~own))
    root, first = others.column("root").to_numpy(), others.column("first").to_numpy()
    kept = np.ones(len(others), np.bool_)
    order = np.lexsort((first, root))
    begins = _begins(root[order])
    if limit is not None:
        kept[order] = np.arange(len(order)) - begins < limit
    sizes = np.cumsum(_bytes(others, entities)[order])
    if len(sizes) and sizes[-1] > _MOST_BYTES:
        kept[order] &= sizes - np.where(begins, sizes[begins - 1], 0) <= _MOST_BYTES
    listed = others.filter(pa.array(kept))
    place = np.lexsort((listed.column("last").to_numpy(), listed.column("root").to_numpy()))
    listed = listed.take(pa.array(place))
    roots = folded.filter(pa.array(own))
    roots = roots.take(pa.array(np.argsort(roots.column("root").to_numpy())))
    tells = np.isin(roots.column("root").to_numpy(), listed.column("root").to_numpy())
    roots = roots.filter(pa.array(tells))
    return Chosen(listed, roots, np.isin(roots.column("root").to_numpy(), root[~kept]))


def stand_in(entries: pa.RecordBatch, listed: pa.RecordBatch) -> Flags:
    """For each of these rows, whether its entity is listed."""
    found = pc.is_in(_texts(entries), value_set=_texts(listed))
    flags: Flags = found.to_numpy(zero_copy_only=False)
    return flags


def _texts(entries: pa.RecordBatch) -> pa.Array:
    """The family and the entity as one text."""
    return join(*(part for name in ("root", "table", "id") for part in (entries.column(name), ",")))


def _codes(entries: pa.RecordBatch) -> tuple[Places, int]:
    encoded = _texts(entries).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)


def _flags(entries: pa.RecordBatch, name: str) -> Flags:
    flags: Flags = entries.column(name).to_numpy(zero_copy_only=False)
    return flags


def _begins(root: Places) -> Places:
    """For each place of a sorted column, where the run of its value begins."""
    begins = np.flatnonzero(np.diff(root, prepend=-1))
    return np.repeat(begins, np.diff(begins, append=len(root)))


def _limited(folded: pa.RecordBatch, limit: int | None) -> pa.RecordBatch:
    """Two more than are listed: one may be the root's own, and one shows that there are more."""
    if limit is None or len(folded) <= limit:
        return folded
    root = folded.column("root").to_numpy()
    order = np.lexsort((folded.column("first").to_numpy(), root))
    kept = _flags(folded, "own").copy()
    rank = np.arange(len(order)) - _begins(root[order])
    kept[order] |= rank < limit + 2
    return folded.filter(pa.array(kept))


def _bytes(entries: pa.RecordBatch, entities: Sequence[Entity]) -> Places:
    """About what each entry is as text."""
    names = np.array([len(each.type.encode()) for each in entities], np.int64)
    total: Places = names[entries.column("table").to_numpy()] + _ENTRY_BYTES
    for name in ("id", "fields"):
        total = total + pc.binary_length(entries.column(name)).fill_null(0).to_numpy()
    return total


def _merged(fields: pa.Array, codes: Places, last: Places) -> pa.Array:
    """The lists of each entity as one; few entities have lists that differ."""
    spoken = fields.dictionary_encode()
    words = spoken.indices.to_numpy().astype(np.int64)
    _, seen = np.unique(codes * len(spoken.dictionary) + words, return_index=True)
    merged = fields.take(pa.array(last))
    if len(seen) == len(last):
        return merged
    several = np.bincount(codes[seen], minlength=len(last)) > 1
    names: dict[int, dict[str, None]] = {}
    for row in np.sort(seen[several[codes[seen]]]):
        names.setdefault(int(codes[row]), {}).update(dict.fromkeys(loads(fields[row].as_py())))
    texts = [dumps(list(names[code])) for code in np.flatnonzero(several).tolist()]
    return pc.replace_with_mask(merged, pa.array(several), pa.array(texts, TEXT))
