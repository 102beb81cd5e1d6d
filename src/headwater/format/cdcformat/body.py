"""The sections that need the rows' values: entity, changed fields, cascade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch
from headwater.format.cdcformat.derive import derive
from headwater.format.cdcformat.entities import Entity, EntityMap
from headwater.format.cdcformat.members import Places
from headwater.format.jsontext import dumps
from headwater.format.text import TEXT, join, known

_REASONS = ("", "entity_created", "entity_updated", "entity_deleted", "entity_created")
_EVENT_TYPES = pa.array(["", "created", "updated", "deleted", "created"], TEXT)
_ROWS_AT_ONCE = 4096  # their values stay in the processor's cache


@dataclass(frozen=True, slots=True)
class Bodies:
    """Text of every event's pieces, for the places of the same names; `key` may be null."""

    event_type: pa.Array
    entity: pa.Array
    change: pa.Array
    invalidations: pa.Array
    key: pa.Array


def bodies(batch: EventBatch, entities: EntityMap) -> Bodies:
    """The members of `entity`, those of `operation` about changed fields, and the rest."""
    parts = [
        _part(batch.slice(start, _ROWS_AT_ONCE), entities, start)
        for start in range(0, len(batch), _ROWS_AT_ONCE)
    ] or [_part(batch, entities, 0)]
    columns = ([getattr(part, name) for part in parts] for name in Bodies.__slots__)
    return Bodies(*map(pa.concat_arrays, columns))


def _part(batch: EventBatch, entities: EntityMap, first: int) -> Bodies:
    found = derive(batch, entities, first)
    ops = batch.column("op")
    types = pc.take(_EVENT_TYPES, ops)
    if found.soft_deletes.any():
        types = pc.if_else(pa.array(found.soft_deletes), pa.scalar("deleted", TEXT), types)
    heads = [f'"entity_type":{dumps(entity.type)},"entity_id":' for entity in found.entities]
    fields, values = found.changes.fields, found.changes.values
    return Bodies(
        event_type=types,
        entity=join(found.by_entity(heads), found.id, found.members),
        change=join(',"changed_fields":', fields, known("changed_field_values", values, values)),
        invalidations=invalidations(found.entities, found.table, ops),
        key=found.key,
    )


def invalidations(entities: Sequence[Entity], table: Places, ops: pa.Array) -> pa.Array:
    """The JSON list of the queries that each change invalidates; `table` is among `entities`."""
    lists = [text for entity in entities for text in _by_operation(entity)]
    codes = table * len(_REASONS) + ops.to_numpy()
    return pc.take(pa.array(lists, TEXT), pa.array(codes))


def _by_operation(entity: Entity) -> list[str]:
    """The JSON list of what a change invalidates, by the number of its operation."""
    return [
        dumps([{"query": query, "reason": reason} for query in entity.invalidates])
        for reason in _REASONS
    ]
