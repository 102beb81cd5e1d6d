"""Listing: what is told of families, as the members of a cascade."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import Operation
from headwater.format.cdcformat.body import invalidations
from headwater.format.cdcformat.entities import Entity
from headwater.format.cdcformat.family.entries import Chosen
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.jsontext import dumps, loads
from headwater.format.text import TEXT, join

_INSERT, _DELETE = int(Operation.INSERT), int(Operation.DELETE)
_REASONS = ("related_updated", "child_added", "parent_deleted", "entity_deleted")
_RELATED, _ADDED, _WITH_PARENT, _DELETED = range(4)


def members(chosen: Chosen, entities: Sequence[Entity], *, atomic: bool) -> pa.Array:
    """The members of the cascade of each root; `entities` are those of the tables."""
    roots = chosen.roots.column("root").to_numpy()
    root = chosen.listed.column("root").to_numpy()
    deleted = chosen.listed.column("op").to_numpy() == _DELETE
    reasons = _reasons(chosen.listed)
    lists = [
        _lists(_entries(chosen.listed, entities, reasons, which), root[which], roots)
        for which in (~deleted, deleted)
    ]
    stale = _invalidations(chosen, entities, reasons, atomic=atomic)
    return join('"updated":', lists[0], ',"deleted":', lists[1], ',"invalidations":', stale)


def _reasons(listed: pa.RecordBatch) -> Places:
    op = listed.column("op").to_numpy()
    gone = np.where(listed.column("root_op").to_numpy() == _DELETE, _WITH_PARENT, _DELETED)
    gained = listed.column("gained").to_numpy(zero_copy_only=False)
    return np.where(
        op == _DELETE, gone, np.where((op == _INSERT) | gained, _ADDED, _RELATED)
    ).astype(np.int64)


def _entries(
    listed: pa.RecordBatch, entities: Sequence[Entity], reasons: Places, which: Flags
) -> pa.Array:
    """These entries as text; what is deleted has no changes."""
    part = listed.filter(pa.array(which))
    heads = pa.array([f'{{"entity_type":{dumps(e.type)},"entity_id":' for e in entities], TEXT)
    tails = pa.array([f',"reason":"{reason}"}}' for reason in _REASONS], TEXT)
    told: list[Any] = [pc.take(heads, part.column("table")), part.column("id")]
    if len(part) and part.column("op")[0].as_py() != _DELETE:
        told += [',"changes":', part.column("fields")]
    return join(*told, pc.take(tails, pa.array(reasons[which])))


def _lists(entries: pa.Array, root: Places, roots: Places) -> pa.Array:
    ends = pa.array(np.concatenate([[0], np.searchsorted(root, roots, side="right")]), pa.int64())
    lists = pa.LargeListArray.from_arrays(ends, entries)
    return join("[", pc.binary_join(lists, pa.scalar(",", TEXT)), "]")


def _invalidations(
    chosen: Chosen, entities: Sequence[Entity], reasons: Places, *, atomic: bool
) -> pa.Array:
    """The queries that each root makes stale; with `atomic` those of its followers too."""
    roots, listed = chosen.roots, chosen.listed
    own = invalidations(entities, roots.column("table").to_numpy(), roots.column("root_op"))
    table = listed.column("table").to_numpy()
    stale = np.array([bool(each.invalidates) for each in entities])[table]
    if not (atomic and stale.any()):
        return own
    row = np.searchsorted(roots.column("root").to_numpy(), listed.column("root").to_numpy())
    triples = np.stack([row, table, reasons], axis=1)[stale]
    _, first = np.unique(triples, axis=0, return_index=True)
    texts = own.to_pylist()
    known: dict[tuple[Any, ...], str] = {}
    for at, told in groupby(triples[np.sort(first)].tolist(), itemgetter(0)):
        added = tuple((code, reason) for _, code, reason in told)
        key = (texts[at], added)
        if key not in known:
            known[key] = _extended(texts[at], added, entities)
        texts[at] = known[key]
    return pa.array(texts, TEXT)


def _extended(own: str, added: Iterable[tuple[int, int]], entities: Sequence[Entity]) -> str:
    entries = loads(own)
    for code, reason in added:
        for query in entities[code].invalidates:
            entry = {"query": query, "reason": _REASONS[reason]}
            if entry not in entries:
                entries.append(entry)
    return dumps(entries)
