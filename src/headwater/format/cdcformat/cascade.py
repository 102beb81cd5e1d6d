"""Cascade: what else a transaction changed, told in the event of the change that caused it.

`row` leaves every row its own event. `atomic` gives one event per mutation: the rows that followed
stand in their root's event alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.contract import SchemaHistory
from headwater.event import EventBatch, Operation
from headwater.format.cdcformat.derive import tables_of
from headwater.format.cdcformat.entities import EntityMap
from headwater.format.cdcformat.family.entries import Kin, choose, entries_of, fold, stand_in
from headwater.format.cdcformat.family.keys import Rows, pair
from headwater.format.cdcformat.family.listing import members
from headwater.format.cdcformat.family.relations import Relations
from headwater.format.cdcformat.family.roots import find_families
from headwater.format.cdcformat.family.scratch import Workspace
from headwater.format.cdcformat.family.study import Study
from headwater.format.cdcformat.family.telling import Telling
from headwater.format.cdcformat.groups import Assembly
from headwater.format.cdcformat.images import read_images
from headwater.format.cdcformat.json import Granularity
from headwater.format.cdcformat.members import Places
from headwater.format.cdcformat.told import tell
from headwater.format.text import TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class Cascade:
    """Tells cascades in batches of whole transactions. Implements contract.WholeTransform.

    Pure: the same events and the same history give the same cascades, also where a transaction is
    read in passes. `history` knows the foreign keys; `entities` names what changed. An event lists
    all that followed, or the `limit` entities of it that changed first; with `atomic`, rows that
    are not listed keep events of their own.
    """

    history: SchemaHistory
    entities: EntityMap = field(default_factory=EntityMap)
    granularity: Granularity = "row"
    limit: int | None = None
    workspace: Workspace = field(default_factory=Workspace)

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The batch with its cascades; with `atomic`, without the rows that stand in them."""
        numbers = _transactions(batch)
        several = _several(numbers)
        if not len(several):
            return batch
        part = EventBatch(batch.records.take(pa.array(several)))
        table, tables = tables_of(part)
        present = [tables[code] for code in np.unique(table)]
        shapes = part.column("schema_id").unique().to_pylist()
        relations = Relations.among(present, shapes, self.history)
        if not relations:
            return batch
        places, numbers = np.arange(len(part)), numbers[several]
        rows = Rows(part, read_images(part, table), table, tables, places, numbers)
        pairs = pair(rows.referred(relations), rows.referring(relations))
        return self._told(batch, several, rows, pairs) if len(pairs[0]) else batch

    def study(self, pieces: Callable[[], Iterator[EventBatch]]) -> Telling | None:
        """The cascades of one transaction, which `pieces` gives as often as it is asked."""
        return Study(
            pieces=pieces,
            history=self.history,
            entities=self.entities,
            workspace=self.workspace,
            atomic=self.granularity == "atomic",
            limit=self.limit,
        ).work()

    def _told(
        self, batch: EventBatch, several: Places, rows: Rows, pairs: tuple[Places, Places]
    ) -> EventBatch:
        """The batch with what these pairs of rows mean; `several` are the rows' places in it."""
        atomic = self.granularity == "atomic"
        ops = rows.batch.column("op").to_numpy()
        found = find_families(ops, lambda: [pairs])
        linked = np.unique(np.concatenate(pairs))
        root = found.root[linked]
        entities = tuple(map(self.entities.entity, rows.tables))
        entries = entries_of(
            EventBatch(rows.batch.records.take(pa.array(linked))),
            rows.images.of(linked),
            rows.table[linked],
            entities,
            Kin(linked, root, ops[root], found.gained[linked]),
        )
        chosen = choose(fold(entries), self.limit, entities)
        if not len(chosen.listed):
            return batch
        tellers = several[chosen.roots.column("root").to_numpy()]
        cascades = Assembly(len(batch), TEXT)
        cascades.put(tellers, members(chosen, entities, atomic=atomic))
        cut = np.zeros(len(batch), np.bool_)
        cut[tellers] = chosen.cut
        told = tell(batch, cascades.column(), pa.array(cut))
        if not atomic:
            return told
        kept = np.ones(len(batch), np.bool_)
        folded = entries.column("last").to_numpy()[stand_in(entries, chosen.listed)]
        kept[several[folded]] = False
        return told.filter(pa.array(kept))


def _transactions(batch: EventBatch) -> Places:
    """A number for each event, the same for those of one transaction; -1 for no mutation."""
    column = batch.column("transaction")
    ids = pc.struct_field(column, "tx_id").fill_null(0).to_numpy()
    indexes = pc.struct_field(column, "event_index").fill_null(0).to_numpy()
    begins = np.ones(len(batch), np.bool_)
    begins[1:] = (ids[1:] != ids[:-1]) | (indexes[1:] <= indexes[:-1])
    mutates = pc.and_(column.is_valid(), pc.less(batch.column("op"), int(Operation.READ)))
    return np.where(mutates.to_numpy(zero_copy_only=False), np.cumsum(begins), -1)


def _several(numbers: Places) -> Places:
    """The events whose transaction has others."""
    counts = np.bincount(numbers + 1, minlength=1)
    counts[0] = 0
    return np.flatnonzero(counts[numbers + 1] > 1)
