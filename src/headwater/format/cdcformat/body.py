"""The sections that need the rows' values: entity, changed fields, cascade."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from json.encoder import encode_basestring
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.event import EventBatch, Operation, TableId
from headwater.format.cdcformat.changes import FieldTexts, changed_fields, changed_values
from headwater.format.cdcformat.entities import Entity, EntityMap, id_text, scalar_text
from headwater.format.jsontext import dumps
from headwater.format.rows import Row, key_texts, keys, parsed
from headwater.format.text import TEXT

Cascades = Callable[[EventBatch], Sequence[Mapping[str, Any] | None]]

_UPDATE, _DELETE = int(Operation.UPDATE), int(Operation.DELETE)
_REASONS = ("", "entity_created", "entity_updated", "entity_deleted", "entity_created")
_ROWS_AT_ONCE = 4096  # their values stay in the processor's cache
_NO_CASCADE = '{"updated":[],"deleted":[],"invalidations":'


@dataclass(frozen=True, slots=True)
class Bodies:
    """Text of every event's pieces, for the places of the same names; `key` may be null."""

    entity: pa.Array
    change: pa.Array
    cascade: pa.Array | str
    key: pa.Array


def bodies(batch: EventBatch, entities: EntityMap, cascades: Cascades | None) -> Bodies:
    """The members of `entity`, those of `operation` about changed fields, `cascade`, the key."""
    plans = _plans(batch, entities)
    ops = batch.column("op").to_pylist()
    told = None if cascades is None else cascades(batch)
    entity: list[str] = []
    change: list[str] = []
    keyed: list[Row | None] = []
    for start in range(0, len(batch), _ROWS_AT_ONCE):
        part = batch.slice(start, _ROWS_AT_ONCE)
        before, after = parsed(part.column("before"), start), parsed(part.column("after"), start)
        here = slice(start, start + len(part))
        rows = [
            old if op == _DELETE else new
            for op, old, new in zip(ops[here], before, after, strict=True)
        ]
        found = keys(part.column("primary_key").to_pylist(), rows)
        entity += [
            plan.members(key, row or {})
            for plan, key, row in zip(plans[here], found, rows, strict=True)
        ]
        change += _changes(part, ops[here], before, after)
        keyed += found
    return Bodies(
        pa.array(entity, TEXT),
        pa.array(change, TEXT),
        _cascades(plans, ops, told),
        key_texts(keyed),
    )


def _cascades(
    plans: Sequence[_Plan], ops: Sequence[int], told: Sequence[Mapping[str, Any] | None] | None
) -> pa.Array | str:
    if told is not None:
        rows = zip(plans, ops, told, strict=True)
        return pa.array([plan.cascade(op, more) for plan, op, more in rows], TEXT)
    if not any(plan.entity.invalidates for plan in set(plans)):
        return f"{_NO_CASCADE}[]}}"
    return pa.array([plan.cascade(op, None) for plan, op in zip(plans, ops, strict=True)], TEXT)


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """How the rows of one table are written."""

    entity: Entity
    head: str
    texts: tuple[tuple[str, str], ...]  # member and column
    invalidations: tuple[str, ...]  # by operation

    def members(self, key: Row | None, row: Row) -> str:
        number = id_text(key)
        text = self.head + ("null" if number is None else encode_basestring(number))
        for name, column in self.texts:
            if row.get(column) is not None:
                text += f',"{name}":{encode_basestring(scalar_text(row[column]))}'
        entity = self.entity
        if entity.version is not None and type(row.get(entity.version)) is int:
            text += f',"version":{row[entity.version]}'
        if entity.soft_delete in row:
            deleted = row[entity.soft_delete] is not None
            text += f',"is_soft_deleted":{"true" if deleted else "false"}'
        return text

    def cascade(self, op: int, told: Mapping[str, Any] | None) -> str:
        if not told:
            return f"{_NO_CASCADE}{self.invalidations[op]}}}"
        updated, deleted = dumps(told.get("updated", [])), dumps(told.get("deleted", []))
        return (
            f'{{"updated":{updated},"deleted":{deleted},"invalidations":{self.invalidations[op]}}}'
        )


def _plans(batch: EventBatch, entities: EntityMap) -> list[_Plan]:
    made: dict[tuple[str | None, str], _Plan] = {}
    plans = []
    schemas, tables = batch.column("table_schema"), batch.column("table_name")
    for place in zip(schemas.to_pylist(), tables.to_pylist(), strict=True):
        plan = made.get(place)
        if plan is None:
            plan = made[place] = _plan(entities.entity(TableId(*place)))
        plans.append(plan)
    return plans


def _plan(entity: Entity) -> _Plan:
    lists = [
        dumps([{"query": query, "reason": reason} for query in entity.invalidates])
        for reason in _REASONS
    ]
    columns = (("entity_identifier", entity.identifier), ("tenant_id", entity.tenant))
    return _Plan(
        entity=entity,
        head=f'"entity_type":{dumps(entity.type)},"entity_id":',
        texts=tuple((name, column) for name, column in columns if column is not None),
        invalidations=tuple(lists),
    )


def _changes(
    batch: EventBatch, ops: Sequence[int], before: Sequence[Row | None], after: Sequence[Row | None]
) -> list[str]:
    column = batch.column
    lists = FieldTexts()
    written = []
    whole = pc.and_not(
        column("before_unavailable_columns").is_null(), column("before_is_key_only")
    ).to_pylist()
    unsent = column("unavailable_columns")
    hidden = repeat(None) if unsent.null_count == len(unsent) else unsent.to_pylist()
    for op, old, new, complete, names_unsent in zip(ops, before, after, whole, hidden):  # noqa: B905
        names = changed_fields(op, old, new, names_unsent or ())
        text = f',"changed_fields":{lists.text(names)}'
        if op == _UPDATE and complete and old is not None and new is not None:
            text += f',"changed_field_values":{changed_values(names, old, new)}'
        written.append(text)
    return written
