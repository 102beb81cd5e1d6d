"""What an event says of its entity, worked out over whole columns: id, tenant, version and so on.

Pure: the same batch and the same map of entities give the same columns, in any process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, TableId
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.format.cdcformat.fields import Changes, changes
from headwater.format.cdcformat.groups import Assembly, groups
from headwater.format.cdcformat.images import Images, read_images
from headwater.format.cdcformat.members import Flags, Places
from headwater.format.cdcformat.scalars import as_lists, as_texts
from headwater.format.jsontext import dumps, loads
from headwater.format.text import TEXT, join, string_list, where

_INTEGER = r"^-?[0-9]+$"
_NULL = pa.scalar(None, TEXT)


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """Columns of JSON text, one row for each event.

    `id` is a JSON string and `key` an object, null for a row without a key; `members` are those of
    the entity behind its id; `soft_deletes` tells the updates that are told as deletes.
    """

    tables: tuple[TableId, ...]
    entities: tuple[Entity, ...]  # of the tables
    table: Places  # of each event, among `tables`
    id: pa.Array
    key: pa.Array
    members: pa.Array
    soft_deletes: Flags
    changes: Changes
    images: Images

    def by_entity(self, texts: Sequence[str]) -> pa.Array:
        """A text for each entity, as a column of the events."""
        return pc.take(pa.array(texts, TEXT), pa.array(self.table))


def derive(batch: EventBatch, entities: EntityMap, first: int = 0) -> Derived:
    """Everything that follows from the events' rows; `first` is for the place in an error."""
    table, tables = tables_of(batch)
    known = tuple(map(entities.entity, tables))
    images = read_images(batch, table, first)
    keys, names = _keys(batch)
    shown = _shown(batch, images)
    ids, key = Assembly(len(batch), TEXT), Assembly(len(batch), TEXT)
    members = Assembly(len(batch), TEXT)
    soft = np.zeros(len(batch), np.bool_)
    there = np.flatnonzero(shown >= 0)
    layout = images.layout[shown[there]]
    for (code, named, found), chosen in groups(table[there], keys[there], layout):
        events = there[chosen]
        rows = _Rows(images, shown[events], images.columns[found])
        ids.put(events, rows.id(known[code].id or names[named]))
        key.put(events, rows.key(names[named]))
        members.put(events, rows.members(known[code]))
        if known[code].soft_delete_as == "deleted":
            soft[events] = _soft_deletes(batch, images, events, known[code])
    return Derived(
        tables, known, table, ids.column(), key.column(), members.column().fill_null(""), soft,
        changes(batch, images), images,
    )  # fmt: skip


def entity_ids(
    batch: EventBatch, images: Images, table: Places, entities: Sequence[Entity]
) -> pa.Array:
    """The ids alone, as in `Derived`."""
    keys, names = _keys(batch)
    shown = _shown(batch, images)
    ids = Assembly(len(batch), TEXT)
    there = np.flatnonzero(shown >= 0)
    layout = images.layout[shown[there]]
    for (code, named, found), chosen in groups(table[there], keys[there], layout):
        rows = _Rows(images, shown[there[chosen]], images.columns[found])
        ids.put(there[chosen], rows.id(entities[code].id or names[named]))
    return ids.column()


def _shown(batch: EventBatch, images: Images) -> Places:
    """The image that says what an event is about."""
    deleted = pc.equal(batch.column("op"), int(Operation.DELETE)).to_numpy(zero_copy_only=False)
    return np.where(deleted, images.before, images.after)


def tables_of(batch: EventBatch) -> tuple[Places, tuple[TableId, ...]]:
    """A code for each event's table, and the tables; not all of them need to occur."""
    schemas = batch.column("table_schema").dictionary_encode("encode")
    names = batch.column("table_name").dictionary_encode()
    codes = schemas.indices.to_numpy().astype(np.int64) * max(len(names.dictionary), 1)
    tables = tuple(
        TableId(schema, name)
        for schema in schemas.dictionary.to_pylist()
        for name in names.dictionary.to_pylist()
    )
    return codes + names.indices.to_numpy(), tables


def _keys(batch: EventBatch) -> tuple[Places, list[tuple[str, ...]]]:
    """The names of the key's columns, as codes and what they stand for."""
    column = batch.column("primary_key")
    encoded = string_list(column).dictionary_encode("encode")
    names = [tuple(loads(text)) if text else () for text in encoded.dictionary.to_pylist()]
    return encoded.indices.to_numpy().astype(np.int64), names


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of one layout."""

    images: Images
    rows: Places
    columns: dict[str, int]

    def values(self, name: str) -> pa.Array:
        return self.images.values(self.rows, self.columns[name])

    def id(self, names: tuple[str, ...]) -> pa.Array | pa.Scalar:
        """A key is all of its columns or none (INV-10)."""
        if not names or not self.columns.keys() >= set(names):
            return _NULL
        if len(names) == 1:
            return as_texts(self.values(names[0]))
        return as_lists([self.values(name) for name in names])

    def key(self, names: tuple[str, ...]) -> pa.Array | pa.Scalar:
        if not names or not self.columns.keys() >= set(names):
            return _NULL
        parts = []
        for name in names:
            parts += [f",{dumps(name)}:", self.values(name)]
        return join(f"{{{parts[0][1:]}", *parts[1:], "}")

    def members(self, entity: Entity) -> pa.Array | pa.Scalar:
        told = []
        for member, name in (
            ("entity_identifier", entity.identifier),
            ("tenant_id", entity.tenant),
        ):
            if name in self.columns:
                values = self.values(name)
                said = pc.not_equal(values, "null")
                told.append(where(said, f',"{member}":', as_texts(values)))
        if entity.version in self.columns:
            values = self.values(entity.version)
            whole = pc.match_substring_regex(values, _INTEGER)
            told.append(where(whole, ',"version":', values))
        if entity.soft_delete in self.columns:
            words = pa.array([',"is_soft_deleted":false', ',"is_soft_deleted":true'], TEXT)
            told.append(pc.take(words, pa.array(self.deleted(entity).astype(np.int8))))
        if not told:
            return pa.scalar("", TEXT)
        return told[0] if len(told) == 1 and not isinstance(told[0], str) else self._joined(told)

    def _joined(self, told: list[pa.Array | str]) -> pa.Array:
        return join(pa.repeat(pa.scalar("", TEXT), len(self.rows)), *told)

    def deleted(self, entity: Entity) -> Flags:
        values = self.values(entity.soft_delete or "")
        if entity.deleted_when:
            meant = pa.array([dumps(value) for value in entity.deleted_when], TEXT)
            mask = pc.is_in(values, meant)
        else:
            mask = pc.not_equal(values, "null")
        found: Flags = mask.to_numpy(zero_copy_only=False)
        return found


def _soft_deletes(batch: EventBatch, images: Images, events: Places, entity: Entity) -> Flags:
    """Updates after which the row is deleted, and before which it is not known to have been."""
    ops = batch.column("op").to_numpy()[events]
    found: Flags = (ops == int(Operation.UPDATE)) & _deleted(images, images.after[events], entity)
    return found & ~_deleted(images, images.before[events], entity)


def _deleted(images: Images, rows: Places, entity: Entity) -> Flags:
    deleted = np.zeros(len(rows), np.bool_)
    held = np.flatnonzero(rows >= 0)
    for (layout,), chosen in groups(images.layout[rows[held]]):
        part = _Rows(images, rows[held[chosen]], images.columns[layout])
        if entity.soft_delete in part.columns:
            deleted[held[chosen]] = part.deleted(entity)
    return deleted
