"""Versions of tables that a person chose, for events that do not say theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import ConfigError
from headwater.event import EVENT_SCHEMA, EventBatch, TableId

if TYPE_CHECKING:
    from headwater.contract import SchemaHistory

_SCHEMA_ID = EVENT_SCHEMA.get_field_index("schema_id")


class ChosenVersions:
    """Marks events with the version that was chosen for their table, by its schema id."""

    def __init__(self, history: SchemaHistory | None, schema_ids: Iterable[int]) -> None:
        self._ids: dict[TableId, int] = {}
        known = {} if history is None else {each.schema_id: each for _, each in history.schemas()}
        for schema_id in schema_ids:
            if schema_id not in known:
                raise ConfigError(
                    "schema-version-unknown",
                    f"no table has a version with the id {schema_id}",
                    hint="name the log with --schemas LOG; headwater schema show LOG lists the ids",
                )
            self._ids[known[schema_id].table] = schema_id

    def __call__(self, batch: EventBatch) -> EventBatch:
        """The same events, those of the chosen tables with the chosen id."""
        if not self._ids:
            return batch
        ids = batch.column("schema_id")
        for table, schema_id in self._ids.items():
            ids = pc.if_else(_of_table(batch, table), schema_id, ids)
        records = batch.records.set_column(_SCHEMA_ID, EVENT_SCHEMA.field(_SCHEMA_ID), ids)
        return EventBatch(records, batch.closes_transaction)


def _of_table(batch: EventBatch, table: TableId) -> pa.Array:
    schemas = batch.column("table_schema")
    same = schemas.is_null() if table.schema is None else pc.equal(schemas, table.schema)
    named = pc.equal(batch.column("table_name"), table.name)
    return pc.and_(named, same.fill_null(fill_value=False))
