"""Cascade: what else a transaction changed, told in the event of the change that caused it.

`row` leaves every row its own event. `atomic` gives one event per mutation: the rows that followed
stand in their root's event alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import SchemaHistory
from headwater.event import EventBatch, Operation
from headwater.format.cdcformat.body import invalidations
from headwater.format.cdcformat.derive import Derived, derive
from headwater.format.cdcformat.entities import EntityMap
from headwater.format.cdcformat.families import Families, families, may_relate, transactions
from headwater.format.cdcformat.groups import Assembly
from headwater.format.cdcformat.json import Granularity
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.cdcformat.told import tell
from headwater.format.jsontext import dumps, loads
from headwater.format.text import TEXT, join

_INSERT, _DELETE = int(Operation.INSERT), int(Operation.DELETE)
_REASONS = ("related_updated", "child_added", "parent_deleted", "entity_deleted")
_RELATED, _ADDED, _WITH_PARENT, _DELETED = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """Tells cascades in batches of whole transactions. Implements contract.Transform.

    Pure: the same events and the same history give the same cascades. `history` knows the foreign
    keys; `entities` names what changed.
    """

    history: SchemaHistory
    entities: EntityMap = field(default_factory=EntityMap)
    granularity: Granularity = "row"

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The batch with its cascades; with `atomic`, without the rows that stand in them."""
        numbers = transactions(batch)
        several = _several(numbers)
        if not len(several):
            return batch
        part = EventBatch(batch.records.take(pa.array(several)))
        if not may_relate(part, self.history):
            return batch
        derived = derive(part, self.entities)
        found = families(part, numbers[several], derived, self.history)
        entries = _Entries.of(part, derived, found)
        if not len(entries.events):
            return batch
        atomic = self.granularity == "atomic"
        roots, members = entries.told(atomic=atomic)
        cascades = Assembly(len(batch), TEXT)
        cascades.put(several[roots], members)
        told = tell(batch, cascades.column())
        if not atomic:
            return told
        kept = np.ones(len(batch), np.bool_)
        kept[several[entries.followers]] = False
        return told.filter(pa.array(kept))


def _several(numbers: Places) -> Places:
    """The events whose transaction has others."""
    counts = np.bincount(numbers + 1, minlength=1)
    counts[0] = 0
    return np.flatnonzero(counts[numbers + 1] > 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Entries:
    """The entries of cascades: `events` are listed, in the order of their roots.

    `followers` are all that a cascade covers: an entity that changed twice is listed once.
    """

    batch: EventBatch
    derived: Derived
    followers: Places
    events: Places
    roots: Places
    reasons: Places
    changes: pa.Array

    @classmethod
    def of(cls, batch: EventBatch, derived: Derived, found: Families) -> _Entries:
        root = found.root
        named = derived.id.is_valid().to_numpy(zero_copy_only=False)
        entity = _entities(derived, root)
        follows = (root != np.arange(len(batch))) & named & (entity != entity[root])
        followers = np.flatnonzero(follows)
        _, last = np.unique(entity[followers][::-1], return_index=True)
        events = followers[::-1][last]
        events = events[np.lexsort((events, root[events]))]
        return cls(
            batch, derived, followers, events, root[events],
            _reasons(batch.column("op").to_numpy(), events, root[events], found.gained),
            _changes(derived, entity, followers, events),
        )  # fmt: skip

    def told(self, *, atomic: bool) -> tuple[Places, pa.Array]:
        """The roots, and the members of the cascade of each."""
        roots = np.unique(self.roots)
        deleted = self.batch.column("op").to_numpy()[self.events] == _DELETE
        types = self.derived.by_entity([dumps(each.type) for each in self.derived.entities])
        heads = join('{"entity_type":', types, ',"entity_id":', self.derived.id)
        heads = heads.take(pa.array(self.events))
        tails = pc.take(
            pa.array([f',"reason":"{reason}"}}' for reason in _REASONS], TEXT),
            pa.array(self.reasons),
        )
        updates = join(heads, ',"changes":', self.changes, tails)
        own = invalidations(self.derived, self.batch.column("op")).take(pa.array(roots))
        return roots, join(
            '"updated":', self._lists(roots, updates, ~deleted),
            ',"deleted":', self._lists(roots, join(heads, tails), deleted),
            ',"invalidations":', self._with_followers(roots, own) if atomic else own,
        )  # fmt: skip

    def _lists(self, roots: Places, entries: pa.Array, chosen: Flags) -> pa.Array:
        counts = np.searchsorted(self.roots[chosen], roots, side="right")
        ends = pa.array(np.concatenate([[0], counts]), pa.int64())
        lists = pa.LargeListArray.from_arrays(ends, entries.filter(pa.array(chosen)))
        return join("[", pc.binary_join(lists, pa.scalar(",", TEXT)), "]")

    def _with_followers(self, roots: Places, own: pa.Array) -> pa.Array:
        """The queries that the followers would have invalidated in events of their own."""
        tables = self.derived.table[self.events]
        stale = np.array([bool(each.invalidates) for each in self.derived.entities])[tables]
        if not stale.any():
            return own
        lists = {root: loads(text) for root, text in zip(roots, own.to_pylist(), strict=True)}
        triples = np.stack([self.roots, tables, self.reasons], axis=1)[stale]
        for root, table, reason in np.unique(triples, axis=0):
            for query in self.derived.entities[table].invalidates:
                entry = {"query": query, "reason": _REASONS[reason]}
                if entry not in lists[root]:
                    lists[root].append(entry)
        return pa.array([dumps(lists[root]) for root in roots], TEXT)


def _entities(derived: Derived, root: Places) -> Places:
    """A number for each entity of each family."""
    texts = join(pa.array(root), ",", pa.array(derived.table), ",", derived.id)
    codes: Places = texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def _reasons(ops: Places, events: Places, roots: Places, gained: Flags) -> Places:
    gone = np.where(ops[roots] == _DELETE, _WITH_PARENT, _DELETED)
    added = (ops[events] == _INSERT) | gained[events]
    return np.where(ops[events] == _DELETE, gone, np.where(added, _ADDED, _RELATED))


def _changes(derived: Derived, entity: Places, followers: Places, events: Places) -> pa.Array:
    """The changed fields of each entry: of an entity that changed more than once, all of them."""
    fields = derived.changes.fields
    found = fields.take(pa.array(events))
    if len(events) == len(followers):
        return found
    lists: dict[int, dict[str, None]] = {}
    for code, text in zip(
        entity[followers], fields.take(pa.array(followers)).to_pylist(), strict=True
    ):
        lists.setdefault(int(code), {}).update(dict.fromkeys(loads(text)))
    return pa.array([dumps(list(lists[int(code)])) for code in entity[events]], TEXT)
